import type { ModelGateway } from '#domain/capabilities/models/model-gateway.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';

const patienceMs = 3_000;

/**
 * Ends the vendor's own run of a response that nobody waits for any more, so that it costs no further. It stays
 * for a later attempt while the response goes on and has not expired, unless this attempt found it `lost`: then it is
 * replaced, though the vendor may still work on it. Nothing depends on it: a failure is not told.
 */
export async function abandonRun(
  deps: { unitOfWork: UnitOfWork; models: ModelGateway },
  turn: ClaimedTurn,
  { runId, cancelled, lost }: { runId: string; cancelled: boolean; lost: boolean },
): Promise<void> {
  try {
    const ended =
      cancelled ||
      (await deps.unitOfWork.inTenant(turn.tenantId, async (em) => {
        const head = await lockHead(em, turn.responseId);
        if (head === null) {
          return true;
        }
        const { response, now } = head;
        const isOver = response.isTerminal || response.expiresAt <= now;
        return isOver || (lost && response.writerEpoch === turn.epoch);
      }));
    if (ended) {
      await deps.models.abandon?.(turn.model, runId, AbortSignal.timeout(patienceMs));
    }
  } catch {
    // The run ends by itself at the vendor, and what it wrote is not read.
  }
}
