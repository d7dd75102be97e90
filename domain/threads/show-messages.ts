import type { Context } from '#domain/access/context.ts';
import { readMapping } from '#domain/governance/pii-mapping.ts';
import { mayHoldTokens } from '#domain/governance/pii-tokens.ts';
import { restoreText } from '#domain/governance/restore.ts';
import { readerOf, visibleTo } from '#domain/governance/show-restored.ts';
import type { Message } from './message.entity.ts';

/** A message, with its content as the reader may see it. */
export interface ShownMessage {
  message: Message;
  content: string;
}

/** Whoever brought a value sees it, and whoever holds `threads.read_pii`; everybody else sees its token. */
export async function showMessages(
  ctx: Context,
  threadId: string,
  messages: readonly Message[],
): Promise<ShownMessage[]> {
  const mapping = messages.some(({ content }) => mayHoldTokens(content))
    ? visibleTo(readerOf(ctx.caller), await readMapping(ctx, ctx.caller.tenantId, [{ threadId }]))
    : null;
  return messages.map((message) => ({
    message,
    content: mapping === null ? message.content : restoreText(message.content, mapping),
  }));
}
