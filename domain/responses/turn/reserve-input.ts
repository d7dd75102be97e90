import type { EntityManager } from '@mikro-orm/postgresql';
import { UsageEntry } from '#domain/responses/record/usage-entry.entity.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';
import { lockLane } from './commit-turn.ts';

/**
 * Reserves the estimated input of an attempt whose claim has not: its prompt has been screened, and is sent now.
 * @throws Fenced
 */
export async function reserveInput(em: EntityManager, turn: ClaimedTurn): Promise<void> {
  const { response } = await lockLane(em, turn);
  const place = { responseId: response.id, iteration: turn.iteration, attempt: turn.attempt };
  await em.nativeUpdate(
    UsageEntry,
    { ...place, kind: 'attempt', settled: false },
    { inputTokens: turn.held.inputTokens },
  );
}
