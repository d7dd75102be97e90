import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { deleteMissing } from '#domain/knowledge/synchronisation/delete-missing.ts';
import { missingDocuments } from '#domain/knowledge/synchronisation/missing-documents.ts';
import { findRunning } from '#domain/knowledge/synchronisation/running-run.ts';
import { saveAnswers } from '#domain/knowledge/synchronisation/save-answers.ts';
import type { DetectDeletionsResult, SyncConnectorInput } from '#workflows/sync-connector/messages.ts';
import { askGuard } from './ask-guard.ts';
import { askWhetherGone, hasAnswers } from './ask-whether-gone.ts';
import { endOf, storeMs, type DetectWork } from './detect-work.ts';
import { withSource, type SourceDependencies } from './run-steps.ts';

/** Documents of one transaction. */
const batchSize = 200;
const sliceMs = 60_000;

/**
 * Deletes the documents that are gone at the source, unless there are so many that a person must confirm it. What only
 * the listing lacks is asked for once more; a document that cannot be asked for stays. Answers are stored, so that the
 * next step goes on behind them.
 */
export async function detectDeletions(
  deps: SourceDependencies,
  input: SyncConnectorInput,
  signal: AbortSignal,
): Promise<DetectDeletionsResult> {
  const result = await withSource(deps, input, (open) => {
    const { deletions } = deps.sources.find(open.connector.providerSlug)?.detects ?? { deletions: 'never' };
    const deleting = { ...open, listsDeletions: deletions !== 'never' };
    return detectSlice({ ...deps, open, deleting, endsAt: Date.now() + sliceMs, signal });
  });
  return result === 'ended' ? { state: 'ended' } : result;
}

async function detectSlice(work: DetectWork): Promise<DetectDeletionsResult> {
  const { unitOfWork, open } = work;
  const { tenantId, run } = open;
  // Deletions begin when the guard lets them through, with what was not asked for: the rest of them may follow.
  const isDecided = run.confirmDeletions || run.deleted > 0;
  const guard = isDecided ? null : await askGuard(work);
  if (guard !== null && 'state' in guard) {
    return guard;
  }
  if (guard !== null && guard.held > 0) {
    await unitOfWork.inTenant(tenantId, async (em) => {
      const { run: held } = await findRunning(em, run.id);
      held.deletesHeld = guard.held;
      await em.flush();
    });
    return { state: 'done' };
  }
  return deleteSlice(work);
}

async function deleteSlice(work: DetectWork): Promise<DetectDeletionsResult> {
  const { unitOfWork, open, deleting, signal } = work;
  const { tenantId, run } = open;
  for (let after = nilUuid; ;) {
    const missing = await unitOfWork.inTenant(tenantId, (em) =>
      missingDocuments(em, deleting, { after, limit: batchSize }),
    );
    if (missing.length === 0) {
      return { state: 'done' };
    }
    const endsAt = Math.min(work.endsAt, Date.now() + storeMs);
    const asked = await askWhetherGone(open, missing, { endsAt, signal });
    await unitOfWork.inTenant(tenantId, async (em) => {
      if (asked.gone.length > 0) await deleteMissing(em, run.id, asked.gone);
      if (hasAnswers({ ...asked, gone: [] })) await saveAnswers(em, run.id, { ...asked, gone: [] });
    });
    const ended = await endOf(work, asked);
    if (ended !== null) {
      return ended;
    }
    after = asked.last ?? after;
  }
}
