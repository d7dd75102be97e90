import type { CloseReason } from '#domain/responses/end/close-response.ts';
import { closeResponse } from '#domain/responses/end/close-response.ts';
import type { CallKey, TurnKey } from '#domain/responses/record/turn-key.ts';
import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import type { ContendedPace } from '#domain/foundation/kernel/contended-pace.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { endOfEnded } from '#domain/responses/record/response-end.ts';
import { keepAlive } from '../keep-alive.ts';
import { endSessions } from './end-sessions.ts';
import { waitForPace } from './wait-for-pace.ts';
import { runCall, type CallDependencies } from './run-call.ts';
import { runTurn, type TurnDependencies } from './run-turn.ts';

export type ResponseDependencies = TurnDependencies & CallDependencies & { pace: ContendedPace };

export function createResponseActivities(deps: ResponseDependencies) {
  return {
    runTurn: async (key: TurnKey) => {
      await waitForPace(deps.pace, key.tenantId);
      const result = await runTurn(deps, key);
      if (key.iteration > 0 && result.next === 'done') {
        await keepAlive(() => endSessions(deps, key));
      }
      return result;
    },
    runCall: async (key: CallKey) => {
      await waitForPace(deps.pace, key.tenantId);
      return runCall(deps, key);
    },
    closeResponse: (input: { tenantId: string; responseId: string; reason: CloseReason }) =>
      keepAlive(async () => {
        const leftMs = await deps.unitOfWork.inTenant(input.tenantId, (em) =>
          closeResponse(em, input.responseId, input.reason),
        );
        hitFailpoint('finish.after_commit');
        if (leftMs === null) {
          await endSessions(deps, input);
        }
        return leftMs;
      }),
    endResponse: (input: { tenantId: string; responseId: string; reason: CloseReason }) =>
      keepAlive(async () => {
        const end = await deps.unitOfWork.inTenant(input.tenantId, async (em) => {
          await closeResponse(em, input.responseId, input.reason);
          return endOfEnded((await lockHead(em, input.responseId))?.response ?? null);
        });
        hitFailpoint('finish.after_commit');
        await endSessions(deps, input);
        return end;
      }),
  };
}
