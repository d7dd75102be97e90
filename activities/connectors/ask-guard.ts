import { heldOf, judge, tallyOf, type Tally } from '#domain/knowledge/synchronisation/deletion-guard.ts';
import { unaskedDocuments } from '#domain/knowledge/synchronisation/missing-documents.ts';
import { saveAnswers } from '#domain/knowledge/synchronisation/save-answers.ts';
import type { DetectDeletionsResult } from '#workflows/sync-connector/messages.ts';
import { askWhetherGone, hasAnswers, type Asked } from './ask-whether-gone.ts';
import { endOf, storeMs, type DetectWork } from './detect-work.ts';

/** Documents that are asked for between two looks at all of them. */
const batchSize = 1_000;

/**
 * Asks the source for documents that its listing lacks until the guard is decided, and deletes none. It is decided behind
 * the same question each time, at whatever rate the source answers.
 * @returns how many deletions it holds back, none where they may be applied, or that another step is needed
 */
export async function askGuard(work: DetectWork): Promise<{ held: number } | DetectDeletionsResult> {
  const { unitOfWork, open, deleting, signal } = work;
  const { tenantId, run } = open;
  for (;;) {
    const tally = await unitOfWork.inTenant(tenantId, (em) => tallyOf(em, deleting));
    const verdict = judge(tally);
    if (verdict !== 'open') {
      return { held: verdict === 'hold' ? heldOf(tally) : 0 };
    }
    const unasked = await unitOfWork.inTenant(tenantId, (em) => unaskedDocuments(em, deleting, batchSize));
    const asked = await askWhetherGone(open, unasked, {
      endsAt: Math.min(work.endsAt, Date.now() + storeMs),
      signal,
      isEnough: (answers) => judge(withAnswers(tally, answers)) !== 'open',
    });
    if (hasAnswers(asked)) {
      await unitOfWork.inTenant(tenantId, (em) => saveAnswers(em, run.id, asked));
    }
    const ended = await endOf(work, asked);
    if (ended !== null) {
      return ended;
    }
  }
}

function withAnswers(tally: Tally, { gone, there, unasked }: Asked): Tally {
  return {
    ...tally,
    absent: tally.absent + gone.length,
    there: tally.there + there.length,
    silent: tally.silent + unasked.length,
    unasked: tally.unasked - gone.length - there.length - unasked.length,
  };
}
