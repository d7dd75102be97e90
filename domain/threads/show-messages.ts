import type { Context } from '#domain/access/context.ts';
import { readMapping } from '#domain/governance/pii-mapping.ts';
import { mayHoldTokens } from '#domain/governance/pii-tokens.ts';
import { restoreText } from '#domain/governance/restore.ts';
import type { Message } from './message.entity.ts';

/** A message, with its content as the reader may see it. */
export interface ShownMessage {
  message: Message;
  content: string;
}

/** Personal data is shown to whoever brought it, or asked for the answer, and with `threads.read_pii`; else tokens. */
export async function showMessages(
  ctx: Context,
  threadId: string,
  messages: readonly Message[],
): Promise<ShownMessage[]> {
  const { tenantId, principalId, granted } = ctx.caller;
  const opens = (message: Message): boolean =>
    (message.createdBy === principalId || granted.has('threads.read_pii')) && mayHoldTokens(message.content);
  const mapping = messages.some(opens) ? await readMapping(ctx, tenantId, [{ threadId }]) : null;
  return messages.map((message) => ({
    message,
    content: mapping !== null && opens(message) ? restoreText(message.content, mapping) : message.content,
  }));
}
