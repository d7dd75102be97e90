/*
 * Inputs and signal arguments of the workflows: ids, names and numbers only. Histories of running workflows contain
 * them, so a new field stays optional for as long as an older start can be under way.
 */

export interface GenerateResponseInput {
  tenantId: string;
  spaceId: string;
  responseId: string;
  /** The model's alias, shown in Temporal UI. */
  model: string;
  timeoutSeconds: number;
}

export interface IngestDocumentInput {
  tenantId: string;
  documentId: string;
}

export interface EmbedSpaceInput {
  tenantId: string;
  spaceId: string;
}

export interface RunConnectorInput {
  tenantId: string;
  connectorId: string;
  /** For an actor that continues as a new run: when its source may be watched again, and watches that failed in a row. */
  watch?: WatchPause;
}

export interface WatchPause {
  /** Milliseconds since the epoch. */
  until: number;
  failures: number;
  /** Tries in a row that found no place on a worker. */
  crowded?: number;
}

export interface SyncConnectorInput {
  tenantId: string;
  connectorId: string;
  runId: string;
}

export interface DiscoverToolsInput {
  tenantId: string;
  spaceId: string;
  serverId: string;
  /** The number of this discovery of the server. */
  number: number;
  /** Whose connection is used. Omitted: that of the principal that registered the server. */
  principalId?: string;
  /** The list is that person's alone: what the server offers to others is not changed. */
  accountOnly?: true;
}

export interface TraceResponseInput {
  tenantId: string;
  spaceId: string;
  responseId: string;
}

export interface FanOutEventInput {
  tenantId: string;
  eventId: string;
  eventType: string;
  spaceId?: string;
  /** Last recipient of an earlier run of the same fan-out. */
  after?: string;
  delivered?: number;
}

export interface DeleteTenantInput {
  tenantId: string;
  deletionId: string;
}

/** What may be deleted with everything that belongs to it, beside a whole tenant. */
export type RootType = 'collection' | 'space' | 'project' | 'principal';

export interface EraseScopeInput {
  tenantId: string;
  rootType: RootType;
  rootId: string;
}

export interface RunSweepInput {
  /** The activity that runs a round. */
  sweep: string;
  /** For an actor that continues as a new run: position of the next round, and whether it is due. */
  place?: readonly string[] | null;
  due?: Wake | null;
}

/** Signals that a round is due. */
export interface Wake {
  budgetSeconds: number;
}
