import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { saveGroups } from '#domain/knowledge/synchronisation/save-groups.ts';
import { isStorable } from '#domain/knowledge/synchronisation/storable-readers.ts';
import type { CheckSourceInput, CheckSourceResult } from '#workflows/sync-connector/messages.ts';
import { notePause, pauseOf, withSource, type OpenRun, type SourceDependencies } from './run-steps.ts';

const maxGroupPages = 1_000;
/** A step ends after so much time, so that its progress is in the history. */
const sliceMs = 60_000;

/** Checks the source at the beginning of a run, unless its listing does, and synchronises the members of its groups. */
export async function checkSource(
  deps: SourceDependencies,
  input: CheckSourceInput,
  signal: AbortSignal,
): Promise<CheckSourceResult> {
  const result = await withSource(deps, input, async (open) => {
    const { source, pace, run } = open;
    if (source.isCheckedByListing !== true && run.groupPosition == null) {
      await pace(1, signal);
      await source.check(signal);
    }
    return source.groups === undefined
      ? ({ state: 'done' } as const)
      : readGroups(deps, open, { inSteps: input.inSteps === true, signal });
  });
  return result === 'ended' ? { state: 'ended' } : result;
}

/** Reads pages of groups from where the last step stopped; without steps, all that are left. */
async function readGroups(
  { unitOfWork }: SourceDependencies,
  open: OpenRun,
  { inSteps, signal }: { inSteps: boolean; signal: AbortSignal },
): Promise<CheckSourceResult> {
  const { tenantId, host } = open;
  const endsAt = inSteps ? Date.now() + sliceMs : Number.POSITIVE_INFINITY;
  let { run } = open;
  try {
    do {
      const { groups, next } = await pageOf(open, run, signal);
      if (next !== null && (next === run.groupPosition || run.groupPages + 1 >= maxGroupPages)) {
        // Without its end, former members could not be distinguished from those that were not listed.
        throw new SourceFailure('source_invalid', 'The source lists its groups without an end.');
      }
      run = await unitOfWork.inTenant(tenantId, (em) => saveGroups(em, run.id, groups, next));
    } while (run.groupPosition != null && Date.now() <= endsAt);
    return { state: run.groupPosition == null ? 'done' : 'more' };
  } catch (error) {
    const isPassing =
      error instanceof SourceFailure && ['rate_limited', 'source_unreachable'].includes(error.code);
    // Progress begins the count of attempts again.
    if (!inSteps || !isPassing || run.groupPages === open.run.groupPages) throw error;
    await unitOfWork.inTenant(tenantId, (em) => notePause(em, { tenantId, runId: run.id, host }, error));
    return { state: 'more', pauseMs: pauseOf(error) };
  }
}

/** The next page; the first one where the source no longer knows the place. */
async function pageOf({ source, pace }: OpenRun, { groupPosition }: SyncRun, signal: AbortSignal) {
  const read = async (cursor: string | null) => {
    await pace(1, signal);
    const page = await source.groups?.(cursor, signal);
    const { groups, next } = page ?? { groups: [], next: null };
    if (next !== null && !isStorable(next)) {
      throw new SourceFailure('source_invalid', 'The source names a place among its groups that is no text.');
    }
    return { groups, next };
  };
  try {
    return await read(groupPosition ?? null);
  } catch (error) {
    const isExpired = error instanceof SourceFailure && error.code === 'cursor_expired';
    if (!isExpired || groupPosition == null) throw error;
    return read(null);
  }
}
