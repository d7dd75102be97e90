import type { SyncErrorCode, SyncStatus } from '#domain/knowledge/connectors/sync-status.ts';
import type { SyncConnectorInput } from '#domain/foundation/durable/workflow-inputs.ts';

export type { SyncConnectorInput } from '#domain/foundation/durable/workflow-inputs.ts';

export interface CheckSourceInput extends SyncConnectorInput {
  /** The workflow asks for the next groups; omitted by the version before, for which one step reads them all. */
  inSteps?: true;
}

export interface CheckSourceResult {
  /** `more`: of the groups. */
  state: 'more' | 'done' | 'ended';
  /** The source asks for a pause before the next groups. */
  pauseMs?: number;
}

/** Counts only: documents and cursors stay in the database. */
export interface FetchPagesResult {
  /** `ended`: the run was cancelled, or its connector is gone. */
  state: 'more' | 'listed' | 'ended';
  recordsFetched: number;
  /** The source asks for a pause before the next page. */
  pauseMs?: number;
}

export interface DetectDeletionsResult {
  state: 'more' | 'done' | 'ended';
  /** The source asks for a pause before the next documents. */
  pauseMs?: number;
}

export interface FinishSyncInput extends SyncConnectorInput {
  end: 'done' | 'cancelled' | 'failed';
  errorCode?: SyncErrorCode;
}

export interface SyncConnectorEnd {
  status: SyncStatus;
  reason: SyncErrorCode | null;
}
