import type { ModelGateway } from '#domain/capabilities/models/model-gateway.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';

const patienceMs = 3_000;

/**
 * Cancels the vendor's own run of a response that is no longer needed, to stop its cost. While the response is
 * running and has not expired, the run is left for a later attempt, unless this attempt found it `lost`: then it is
 * replaced, although the vendor may still be working on it. Best effort: a failure is not reported.
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
    // The run ends at the vendor, and its output is not read.
  }
}
