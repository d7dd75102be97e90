import type { Context } from '#domain/access/context.ts';
import { DomainError } from '#domain/kernel/errors.ts';
import { enterThread, keepQuestion, placeHistory } from '#domain/threads/join-thread.ts';
import { copyContext, exceeds, isTooLong } from './context-snapshot.ts';
import type { CreateResponseInput } from './create-input.ts';
import { keepInput } from './input-items.ts';
import type { ResponseChange } from './response-change.ts';
import { checkCallOutputs } from './tool-input.ts';

const maxChainLength = 200;
/** Where the input of a response stands that waits for its parent: behind all that the parent may bring. */
const waitingPosition = 1_000_000;

/**
 * Snapshots what a response is given: its parent's context and output as references, then its own input. The
 * parent may expire or be deleted afterwards; the child keeps what it was given. With `on_busy: enqueue` a
 * parent that it waits for gives its part when it ends.
 */
export async function joinChain(
  ctx: Context,
  input: CreateResponseInput,
  change: ResponseChange,
  contextWindow: number,
): Promise<void> {
  const { response } = change;
  const { parent, waitsFor } = await enterThread(ctx, input, response);
  response.chainDepth = parent === null ? 0 : parent.chainDepth + 1;
  if (response.chainDepth >= maxChainLength) {
    throw tooLong('previous_response_id', `A chain holds at most ${maxChainLength} responses.`);
  }
  if (waitsFor !== null) {
    response.waitsFor = waitsFor.id;
  }
  if (waitsFor !== null && parent === waitsFor) {
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

function tooLong(param: string, message: string): DomainError {
  return new DomainError('context_length_exceeded', message, { param });
}
