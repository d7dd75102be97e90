/*
 * What each workflow is started with, and what its signals carry: ids, names and numbers only. Histories of running
 * workflows hold them, so a new field is optional for as long as an older start can be under way.
 */

export interface GenerateResponseInput {
  tenantId: string;
  spaceId: string;
  responseId: string;
  /** The model's alias, for people who look at Temporal UI. */
  model: string;
  timeoutSeconds: number;
}

export interface IngestDocumentInput {
  tenantId: string;
  documentId: string;
}

export interface DiscoverToolsInput {
  tenantId: string;
  spaceId: string;
  serverId: string;
  /** Which reading of the server it is. */
  number: number;
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
  /** Where an earlier run of the same fan-out stopped. */
  after?: string;
  delivered?: number;
}

export interface RunSweepInput {
  /** The activity that does a round. */
  sweep: string;
  /** For an actor that continues in a new run: where the next round begins, and whether it is due. */
  place?: readonly string[] | null;
  due?: Wake | null;
}

/** A round is due. */
export interface Wake {
  budgetSeconds: number;
}
