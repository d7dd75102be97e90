import { Model } from '#domain/models/model.entity.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { planContinuation } from './continue-turn.ts';
import { lockHead } from './head.ts';
import { readTurnEvents } from './item-store.ts';
import { foldTurn } from './open-item.ts';
import { TurnAttempt } from './turn-attempt.entity.ts';
import type { TurnKey } from './turn-claim.ts';
import { Turn } from './turn.entity.ts';
import { settleOrphans } from './usage.ts';

/**
 * Fences the attempts at a turn whose worker went without a word, counts them as crashed and settles what they
 * used. Whoever of them still writes is out from here on.
 */
export async function settleLostAttempts(unitOfWork: UnitOfWork, key: TurnKey): Promise<void> {
  await unitOfWork.inTenant(key.tenantId, async (em) => {
    const head = await lockHead(em, key.responseId);
    if (head === null || head.response.isTerminal) {
      return;
    }
    const { response, now } = head;
    response.bumpEpoch();
    const place = { responseId: response.id, iteration: key.iteration };
    const earlier = await em.find(TurnAttempt, place, { orderBy: { attempt: 'asc' } });
    for (const lost of earlier.filter(({ outcome }) => outcome === 'running')) {
      lost.outcome = 'crashed';
      lost.endedAt = now;
    }
    const turn = await em.findOne(Turn, place);
    const events = turn === null ? [] : await readTurnEvents(em, response.id, turn.firstN);
    const model = await em.findOneOrFail(Model, { id: response.modelId });
    const plan = planContinuation(response.request, model, { folded: foldTurn(events), earlier, events });
    // A run that is read again is paid for once, by the attempt that ends it.
    const resume = plan === 'give_up' ? null : (plan.resume ?? null);
    await settleOrphans(em, response, events, resume);
  });
}
