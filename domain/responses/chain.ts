import type { Context } from '#domain/access/context.ts';
import { DomainError, notFound } from '#domain/kernel/errors.ts';
import { enterThread, keepQuestion, placeHistory } from '#domain/threads/join-thread.ts';
import { cancelRunning } from './cancel-response.ts';
import { copyContext, exceeds, isTooLong } from './context-snapshot.ts';
import type { CreateResponseInput } from './create-input.ts';
import { lockHead } from './head.ts';
import { keepInput } from './input-items.ts';
import { authorizeResponse } from './response-access.ts';
import type { ResponseChange } from './response-change.ts';
import type { Response } from './response.entity.ts';
import { checkCallOutputs } from './tool-input.ts';

const maxChainLength = 200;
/** Where the input of a response stands whose parent is still running: behind all that the parent may bring. */
const waitingPosition = 1_000_000;

/**
 * Snapshots what a response is given: its parent's context and output as references, then its own input. The
 * parent may expire or be deleted afterwards; the child keeps what it was given. With `on_busy: enqueue` a
 * running parent gives its part when it ends.
 */
export async function joinChain(
  ctx: Context,
  input: CreateResponseInput,
  change: ResponseChange,
  contextWindow: number,
): Promise<void> {
  const { response } = change;
  const running = await enterThread(ctx, input, response);
  const parent =
    input.previousResponseId === null ? running : await readParent(ctx, input, input.previousResponseId);
  response.chainDepth = parent === null ? 0 : parent.chainDepth + 1;
  if (response.chainDepth >= maxChainLength) {
    throw tooLong('previous_response_id', `A chain holds at most ${maxChainLength} responses.`);
  }
  if (parent !== null && !parent.isTerminal) {
    response.waitsFor = parent.id;
    await keepInput(ctx, change, { items: input.input, position: waitingPosition });
    return keepQuestion(ctx, response, input.input);
  }
  const position =
    parent === null
      ? await placeHistory(ctx, response, { input: input.input, contextWindow })
      : await copyContext(ctx.em, parent.id, response.id);
  await keepInput(ctx, change, { items: input.input, position });
  await keepQuestion(ctx, response, input.input);
}

/**
 * Looks at the whole of what a response was given, once that is written.
 * @throws `tool_output_missing`, `context_length_exceeded`, `invalid_request`
 */
export async function checkGiven(
  ctx: Context,
  input: CreateResponseInput,
  { change, contextWindow }: { change: ResponseChange; contextWindow: number },
): Promise<void> {
  const { response, items } = change;
  // New messages alone hold no calls, and what they say is at hand.
  const alone =
    response.chainDepth === 0 &&
    response.threadId == null &&
    input.input.every(({ type }) => type === 'message');
  if (!alone) {
    await checkCallOutputs(ctx.em, response.id);
  }
  if (response.waitsFor != null) {
    return;
  }
  if (alone ? isTooLong(items, contextWindow) : await exceeds(ctx.em, response.id, contextWindow)) {
    throw tooLong('input', "The conversation exceeds the model's context.");
  }
}

/** The parent, readable by the caller, and ended unless the response may wait for it. */
async function readParent(ctx: Context, input: CreateResponseInput, parentId: string): Promise<Response> {
  const head = await lockHead(ctx.em, parentId);
  if (head === null || head.response.spaceId !== input.spaceId) {
    throw notFound('previous_response_not_found');
  }
  const { response: parent, now } = head;
  authorizeResponse(ctx.caller, 'responses.read', parent.principalId);
  if (parent.isTerminal || input.onBusy === 'enqueue') {
    return parent;
  }
  if (input.onBusy === 'reject') {
    throw new DomainError('previous_response_in_progress', 'The previous response has not ended yet.', {
      param: 'previous_response_id',
    });
  }
  authorizeResponse(ctx.caller, 'responses.cancel', parent.principalId);
  await cancelRunning(ctx, parent, now);
  await ctx.em.flush();
  return parent;
}

function tooLong(param: string, message: string): DomainError {
  return new DomainError('context_length_exceeded', message, { param });
}
