export const syncStatuses = [
  'queued',
  'running',
  'completed',
  'completed_with_errors',
  'failed',
  'cancelled',
] as const;
export type SyncStatus = (typeof syncStatuses)[number];

export function isFinished(status: SyncStatus): boolean {
  return status !== 'queued' && status !== 'running';
}

export const syncTriggers = ['initial', 'schedule', 'manual', 'webhook', 'config_change'] as const;
export type SyncTrigger = (typeof syncTriggers)[number];

/** `full` compares the content of every document, `incremental` trusts versions and lists changes where it can. */
export const syncModes = ['incremental', 'full'] as const;
export type SyncMode = (typeof syncModes)[number];

/** The codes of a run's `error_message`. */
export const syncErrorCodes = [
  'auth_failed',
  'scope_invalid',
  'source_unreachable',
  'source_invalid',
  'rate_limited',
  'cursor_expired',
  'quota_exceeded',
  'deletion_guard',
  'source_truncated',
  'internal_error',
] as const;
export type SyncErrorCode = (typeof syncErrorCodes)[number];

/** Of one document that a run could not store. */
export interface SyncError {
  ref: string;
  code: string;
  message: string;
}

/** Max errors of documents in a run's record. */
export const maxSyncErrors = 20;

/** Documents that failed before and are fetched again by a run that lists changes; of more, everything is listed again. */
export const maxRepeated = 500;
/**
 * Of a row of `source_documents`, in SQL: a document that was deleted here would come back without its readers, which
 * only a listing brings. What was never stored has no hash.
 */
export const isRepeatable = '(can_repeat and (document_id is not null or content_hash is null))';

/** State of a document of the source: its passages are stored, it is left out for a reason, or its fetch failed. */
export const sourceDocumentStates = ['stored', 'skipped', 'failed'] as const;
export type SourceDocumentState = (typeof sourceDocumentStates)[number];
