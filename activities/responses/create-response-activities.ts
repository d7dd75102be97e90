import type { CloseReason } from '#domain/responses/close-response.ts';
import { closeResponse } from '#domain/responses/close-response.ts';
import type { CallKey } from '#domain/responses/claim-call.ts';
import { reach } from '#domain/kernel/failpoint.ts';
import type { TurnKey } from '#domain/responses/turn-claim.ts';
import { keepAlive } from '../keep-alive.ts';
import { runCall, type CallDependencies } from './run-call.ts';
import { runTurn, type TurnDependencies } from './run-turn.ts';

export function createResponseActivities(deps: TurnDependencies & CallDependencies) {
  return {
    runTurn: (key: TurnKey) => runTurn(deps, key),
    runCall: (key: CallKey) => runCall(deps, key),
    closeResponse: (input: { tenantId: string; responseId: string; reason: CloseReason }) =>
      keepAlive(async () => {
        const leftMs = await deps.unitOfWork.inTenant(input.tenantId, (em) =>
          closeResponse(em, input.responseId, input.reason),
        );
        reach('finish.after_commit');
        return leftMs;
      }),
  };
}
