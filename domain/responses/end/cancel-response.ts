import type { Context } from '#domain/foundation/access/context.ts';
import { showRestored } from '#domain/conversations/threads/show-restored.ts';
import { cancel } from '#domain/foundation/durable/messages.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { finishResponse } from './finish-response.ts';
import { currentRecord } from '#domain/responses/store/head.ts';
import { lockOwn } from '#domain/responses/store/response-access.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';

/**
 * Ends a running response at once, even while all workers and Temporal are down. Idempotent on a cancelled response.
 * @throws `response_not_cancellable` if it ended otherwise
 */
export async function cancelResponse(ctx: Context, input: { responseId: string }): Promise<ResponseRecord> {
  const { response, now } = await lockOwn(ctx, input.responseId, 'responses.cancel');
  if (response.isTerminal && response.status !== 'cancelled') {
    throw new DomainError('response_not_cancellable', `Cannot cancel a ${response.status} response.`);
  }
  await cancelRunning(ctx, response, now);
  return showRestored(ctx, response, await currentRecord(ctx.em, response));
}

/** Cancels a response unless it has ended, and its workflow, which a blocked response does not have yet. */
export async function cancelRunning(ctx: Context, response: Response, now: Date): Promise<void> {
  const ended = await finishResponse(ctx.em, response, now, { status: 'cancelled', by: ctx.caller });
  if (ended && response.blockedBy == null) {
    const { tenantId, id: responseId } = response;
    await ctx.enqueue(cancel('generateResponse', { tenantId, responseId }));
  }
}
