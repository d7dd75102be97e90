import type { Context } from '#domain/foundation/access/context.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { enterThread, saveQuestion } from './join-thread.ts';
import { placeHistory } from '#domain/responses/prompt/place-history.ts';
import {
  copyContext,
  exceeds,
  isTooLong,
  waitingPosition,
} from '#domain/responses/prompt/context-snapshot.ts';
import type { CreateResponseInput } from '#domain/responses/record/create-input.ts';
import { saveInput } from './input-items.ts';
import type { ResponseChange } from '#domain/responses/store/response-change.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import { checkCallOutputs } from './tool-input.ts';

const maxChainLength = 200;

/**
 * Snapshots the context of a response: its parent's context and output, or the messages of its branch, as references,
 * then its own input. The parent may expire or be deleted afterwards; the child keeps its context. With `on_busy:
 * enqueue` a parent that blocks it adds its part when it ends, and the history of a branch is added when the response
 * may start.
 */
export async function joinChain(
  ctx: Context,
  input: CreateResponseInput,
  change: ResponseChange,
  contextWindow: number,
): Promise<void> {
  const { response } = change;
  const { parent, blockedBy } = await enterThread(ctx, input, response);
  response.chainDepth = parent === null ? 0 : parent.chainDepth + 1;
  if (response.chainDepth >= maxChainLength) {
    throw tooLong('previous_response_id', `A chain holds at most ${maxChainLength} responses.`);
  }
  response.blockedBy = blockedBy?.id ?? null;
  response.contextFrom = parent !== null && parent === blockedBy ? parent.id : null;
  response.historyDue = blockedBy !== null && parent === null;
  const position =
    blockedBy !== null && (parent === null || parent === blockedBy)
      ? waitingPosition
      : await placeInput(ctx, change, { parent, input, contextWindow });
  await saveInput(ctx, change, { items: input.input, position });
  await saveQuestion(ctx, response, input.input);
}

function placeInput(
  ctx: Context,
  { response }: ResponseChange,
  given: { parent: Response | null; input: CreateResponseInput; contextWindow: number },
): Promise<number> {
  const { parent, input, contextWindow } = given;
  const asked = input.input.flatMap((item) => ('text' in item ? [item.text] : []));
  return parent === null
    ? placeHistory(ctx.em, response, { asked, contextWindow })
    : copyContext(ctx.em, parent.id, response.id);
}

/**
 * Checks the whole context of a response after it was written. For a blocked response that may be its own input
 * alone; its whole context is checked when it may start.
 * @throws `tool_output_missing`, `context_length_exceeded`, `invalid_request`
 */
export async function checkInput(
  ctx: Context,
  input: CreateResponseInput,
  { change, contextWindow }: { change: ResponseChange; contextWindow: number },
): Promise<void> {
  const { response, items } = change;
  // New messages alone contain no calls, and their text is in memory.
  const alone =
    response.chainDepth === 0 &&
    response.threadId == null &&
    input.input.every(({ type }) => type === 'message');
  if (!alone) {
    await checkCallOutputs(ctx.em, response.id);
  }
  if (alone ? isTooLong(items, contextWindow) : await exceeds(ctx.em, response.id, contextWindow)) {
    throw tooLong('input', "The conversation exceeds the model's context.");
  }
}

function tooLong(param: string, message: string): DomainError {
  return new DomainError('context_length_exceeded', message, { param });
}
