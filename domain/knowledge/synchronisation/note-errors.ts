import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { maxSyncErrors, type SyncError } from '#domain/knowledge/connectors/sync-status.ts';

const maxRefLength = 300;

/** References are of the source: shown as far as they fit. */
export function shownRef(ref: string): string {
  return ref.slice(0, maxRefLength).toWellFormed();
}

/** Adds errors of single documents to a run, up to its limit. */
export function noteErrors(run: SyncRun, errors: readonly SyncError[]): void {
  const shown = errors.map((each) => ({ ...each, ref: shownRef(each.ref) }));
  run.errors = [...run.errors, ...shown].slice(0, maxSyncErrors);
}
