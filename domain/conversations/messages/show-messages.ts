import type { Context } from '#domain/foundation/access/context.ts';
import { mayHoldTokens } from '#domain/governance/redaction/pii-tokens.ts';
import { restoreText } from '#domain/governance/redaction/restore.ts';
import { readerOf, readVisible } from '#domain/conversations/threads/show-restored.ts';
import type { FoundThread } from '#domain/conversations/threads/in-thread.ts';
import type { Message } from './message.entity.ts';

/** A message, with its content as the reader may see it. */
export interface ShownMessage {
  message: Message;
  content: string;
}

/**
 * A value is visible to the principal who supplied it and to holders of `threads.read_pii` there; other readers see
 * its token.
 */
export async function showMessages(
  ctx: Context,
  found: FoundThread<Context>,
  messages: readonly Message[],
): Promise<ShownMessage[]> {
  const mapping = messages.some(({ content }) => mayHoldTokens(content))
    ? await readVisible(ctx, ctx.caller.tenantId, {
        holders: [{ threadId: found.thread.id }],
        reader: readerOf(ctx.caller, found),
      })
    : null;
  return messages.map((message) => ({
    message,
    content: mapping === null ? message.content : restoreText(message.content, mapping),
  }));
}
