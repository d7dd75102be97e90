import { Model } from '#domain/capabilities/models/model.entity.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { resumableRun } from './continue-turn.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { ResponseChange, writeLocked } from '#domain/responses/store/response-change.ts';
import { readTurnEvents } from '#domain/responses/store/item-store.ts';
import { TurnAttempt } from '#domain/responses/record/turn-attempt.entity.ts';
import type { TurnKey } from '#domain/responses/record/turn-key.ts';
import { Turn } from '#domain/responses/record/turn.entity.ts';
import { finaliseOrphanedUsage } from '#domain/responses/store/usage.ts';

/**
 * Fences the attempts at a turn whose worker was lost, counts them as crashed and settles their usage; a run that is
 * read again is left to the attempt that reads it. From here on none of them can write. Does nothing if the lane's
 * epoch differs from `epoch`: it may belong to a later turn.
 */
export async function reconcileLostAttempts(
  unitOfWork: UnitOfWork,
  key: TurnKey,
  epoch: number,
): Promise<void> {
  await unitOfWork.inTenant(key.tenantId, async (em) => {
    const head = await lockHead(em, key.responseId);
    if (head === null || head.response.isTerminal || head.response.writerEpoch !== epoch) {
      return;
    }
    const { response, now } = head;
    const change = new ResponseChange(response);
    change.response.bumpEpoch();
    await writeLocked(em, change);
    const place = { responseId: response.id, iteration: key.iteration };
    const earlier = await em.find(TurnAttempt, place, { orderBy: { attempt: 'asc' } });
    for (const lost of earlier.filter(({ outcome }) => outcome === 'running')) {
      lost.outcome = 'crashed';
      lost.endedAt = now;
    }
    const turn = await em.findOne(Turn, place);
    const events = turn === null ? [] : await readTurnEvents(em, response, turn.firstN);
    const model = await em.findOneOrFail(Model, { id: response.modelId });
    await finaliseOrphanedUsage(em, response, events, resumableRun(model, earlier));
  });
}
