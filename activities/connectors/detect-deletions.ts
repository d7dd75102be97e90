import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import {
  deleteMissing,
  heldDeletions,
  missingDocuments,
} from '#domain/knowledge/synchronisation/delete-missing.ts';
import { findRunning } from '#domain/knowledge/synchronisation/running-run.ts';
import type { DetectDeletionsInput, DetectDeletionsResult } from '#workflows/sync-connector/messages.ts';
import { withSource, type OpenRun, type SourceDependencies } from './run-steps.ts';

/** Documents of one transaction. */
const batchSize = 200;
const sliceMs = 60_000;
/** Documents that are asked for at the same time. */
const parallel = 4;

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
  if (deletions === 'never') {
    return { state: 'done', after: from };
  }
  const end = Date.now() + sliceMs;
  const isBegun = open.run.deleted > 0;
  const held = isBegun ? 0 : await unitOfWork.inTenant(tenantId, (em) => heldDeletions(em, open));
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
      missingDocuments(em, open, { after, limit: batchSize }),
    );
    const last = missing.at(-1);
    if (last === undefined) {
      return { state: 'done', after };
    }
    const gone: typeof missing = [];
    for (let at = 0; at < missing.length; at += parallel) {
      const group = missing.slice(at, at + parallel);
      const answers = await Promise.all(
        group.map(async (each) => each.isGone || (await isGone(open, each.ref, signal))),
      );
      signal.throwIfAborted();
      gone.push(...group.filter((_, n) => answers[n]));
    }
    if (gone.length > 0) {
      await unitOfWork.inTenant(tenantId, (em) => deleteMissing(em, runId, gone));
    }
    after = last.id;
    if (Date.now() > end) {
      return { state: 'more', after };
    }
  }
}

async function isGone({ source, pace }: OpenRun, ref: string, signal: AbortSignal): Promise<boolean> {
  try {
    await pace(1, signal);
    return !(await source.exists(ref, signal));
  } catch {
    return false;
  }
}
