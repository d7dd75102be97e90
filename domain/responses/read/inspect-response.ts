import type { Context } from '#domain/foundation/access/context.ts';
import { showRestored } from '#domain/conversations/threads/show-restored.ts';
import { currentRecord } from '#domain/responses/store/head.ts';
import { findOwn } from '#domain/responses/store/response-access.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { ToolCall } from '#domain/responses/record/tool-call.entity.ts';
import { Turn } from '#domain/responses/record/turn.entity.ts';
import { TurnAttempt } from '#domain/responses/record/turn-attempt.entity.ts';
import { UsageEntry } from '#domain/responses/record/usage-entry.entity.ts';

export interface InspectedTurn {
  turn: Turn;
  attempts: TurnAttempt[];
  calls: ToolCall[];
  usage: UsageEntry[];
}

export interface InspectedResponse {
  record: ResponseRecord;
  workflowId: string;
  principalId: string;
  deadlineAt: Date | null;
  turns: InspectedTurn[];
}

/**
 * The turns of a response in order, each with its attempts, its tool calls and its usage.
 * @throws `missing_permission` for another principal's response without the permission, `response_not_found` and its
 * like
 */
export async function inspectResponse(
  ctx: Context,
  input: { responseId: string },
): Promise<InspectedResponse> {
  const { em } = ctx;
  const response = await findOwn(ctx, input.responseId, 'responses.read');
  const responseId = response.id;
  const turns = await em.find(Turn, { responseId }, { orderBy: { iteration: 'asc' } });
  const attempts = await em.find(TurnAttempt, { responseId }, { orderBy: { attempt: 'asc' } });
  const calls = await em.find(ToolCall, { responseId }, { orderBy: { callIndex: 'asc' } });
  const usage = await em.find(UsageEntry, { responseId }, { orderBy: { attempt: 'asc', kind: 'asc' } });
  return {
    record: await showRestored(ctx, response, await currentRecord(em, response)),
    workflowId: response.workflowId,
    principalId: response.principalId,
    deadlineAt: response.deadlineAt ?? null,
    turns: turns.map((turn) => {
      const ofTurn = ({ iteration }: { iteration: number }) => iteration === turn.iteration;
      return {
        turn,
        attempts: attempts.filter(ofTurn),
        calls: calls.filter(ofTurn),
        usage: usage.filter(ofTurn),
      };
    }),
  };
}
