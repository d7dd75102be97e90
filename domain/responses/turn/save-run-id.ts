import type { EntityManager } from '@mikro-orm/postgresql';
import { TurnAttempt } from '#domain/responses/record/turn-attempt.entity.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';

/** Saves the vendor's own run id of an attempt as soon as the vendor has named it. */
export async function saveRunId(em: EntityManager, turn: ClaimedTurn, runId: string): Promise<void> {
  const { responseId, iteration, attempt } = turn;
  await em.nativeUpdate(TurnAttempt, { responseId, iteration, attempt, outcome: 'running' }, { runId });
}
