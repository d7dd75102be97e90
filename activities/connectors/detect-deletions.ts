import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import {
  deleteMissing,
  heldDeletions,
  missingDocuments,
  noteUnasked,
  type DeletingRun,
} from '#domain/knowledge/synchronisation/delete-missing.ts';
import { findRunning } from '#domain/knowledge/synchronisation/running-run.ts';
import type { DetectDeletionsInput, DetectDeletionsResult } from '#workflows/sync-connector/messages.ts';
import { askWhetherGone } from './ask-whether-gone.ts';
import { notePause, pauseOf, withSource, type OpenRun, type SourceDependencies } from './run-steps.ts';

/** Documents of one transaction. */
const batchSize = 200;
const sliceMs = 60_000;
/** What a source has answered for so long is stored. */
const storeMs = 10_000;

/**
 * Deletes the documents that are gone at the source, unless there are so many that a person must confirm it. What only
 * the listing lacks is asked for once more; a document that cannot be asked for stays.
 */
export async function detectDeletions(
  deps: SourceDependencies,
  input: DetectDeletionsInput,
  signal: AbortSignal,
): Promise<DetectDeletionsResult> {
  const result = await withSource(deps, input, (open) => detectSlice(deps, open, input, signal));
  return result === 'ended' ? { state: 'ended', after: input.after } : result;
}

async function detectSlice(
  { unitOfWork, sources }: SourceDependencies,
  open: OpenRun,
  { tenantId, runId, after: from }: DetectDeletionsInput,
  signal: AbortSignal,
): Promise<DetectDeletionsResult> {
  const { deletions } = sources.find(open.connector.providerSlug)?.detects ?? { deletions: 'never' };
  const deleting: DeletingRun = { ...open, listsDeletions: deletions !== 'never' };
  const end = Date.now() + sliceMs;
  const isBegun = open.run.deleted > 0;
  const held = isBegun ? 0 : await unitOfWork.inTenant(tenantId, (em) => heldDeletions(em, deleting));
  if (held > 0) {
    await unitOfWork.inTenant(tenantId, async (em) => {
      const { run } = await findRunning(em, runId);
      run.deletesHeld = held;
      await em.flush();
    });
    return { state: 'done', after: from };
  }
  for (let after = from ?? nilUuid; ;) {
    const missing = await unitOfWork.inTenant(tenantId, (em) =>
      missingDocuments(em, deleting, { after, limit: batchSize }),
    );
    if (missing.length === 0) {
      return { state: 'done', after };
    }
    const endsAt = Math.min(end, Date.now() + storeMs);
    const asked = await askWhetherGone(open, missing, { endsAt, signal });
    await unitOfWork.inTenant(tenantId, async (em) => {
      if (asked.gone.length > 0) await deleteMissing(em, runId, asked.gone);
      if (asked.unasked.length > 0) await noteUnasked(em, runId, asked.unasked);
    });
    signal.throwIfAborted();
    const { stop } = asked;
    if (stop !== null) {
      // Progress begins the count of attempts again.
      if (stop.code !== 'rate_limited' || asked.last === null) throw stop;
      const paused = { tenantId, runId, host: open.host };
      await unitOfWork.inTenant(tenantId, (em) => notePause(em, paused, stop));
      return { state: 'more', after: asked.last, pauseMs: pauseOf(stop) };
    }
    after = asked.last ?? after;
    if (Date.now() > end) {
      return { state: 'more', after };
    }
  }
}
