import type { Context } from '#domain/foundation/access/context.ts';
import { attributeTo, saveEntries } from '#domain/governance/redaction/pii-mapping.ts';
import { recordDetection } from '#domain/governance/redaction/record-detection.ts';
import type { FoundNames } from '#domain/governance/redaction/found-names.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { appendMessages } from './append-messages.ts';
import { findThreadToWrite, requireActive } from '#domain/conversations/threads/find-thread.ts';
import { Message } from './message.entity.ts';
import { screenMessage } from './screen-message.ts';
import { showMessages, type ShownMessage } from './show-messages.ts';
import { requireSender } from '#domain/conversations/threads/sender-role.ts';
import { findPlace, type BranchPlace } from '#domain/conversations/threads/thread-branches.ts';
import type { MessageRole } from '#domain/conversations/threads/thread-status.ts';
import type { Thread } from '#domain/conversations/threads/thread.entity.ts';

export interface AddMessage {
  threadId: string;
  content: string;
  role: MessageRole;
  metadata: Record<string, string>;
  parentMessageId: string | null;
  branchId: string | null;
  idempotency: IdempotentRequest | null;
}

export interface SentMessage extends ShownMessage {
  replayed: boolean;
}

/**
 * Appends a message to a thread. @throws `missing_permission`, `thread_not_found`, `thread_archived`,
 * `branch_not_found`, `message_not_found`, `invalid_state`, `content_blocked`, `NamesNeeded`, and as `claimKey` does
 */
export async function addMessage(
  ctx: Context,
  input: AddMessage,
  names: FoundNames | null = null,
): Promise<SentMessage> {
  const id = newId();
  if (input.idempotency !== null) {
    const claimed = await claimKey(ctx, input.idempotency, `${input.threadId}/${id}`);
    if (claimed !== `${input.threadId}/${id}`) {
      return replayedMessage(ctx, claimed);
    }
  }
  const found = await findThreadToWrite(ctx, input.threadId, { lock: true });
  const { thread, there } = found;
  requireSender(there.caller, input.role, 'role');
  requireActive(found);
  const place = await findPlace(ctx.em, thread, input);
  return appendScreened(ctx, thread, { ...input, ...place, id, names });
}

/** Screens and stores the message, and returns it as it was sent. */
export async function appendScreened(
  ctx: Context,
  thread: Thread,
  input: BranchPlace & {
    id: string;
    content: string;
    role: MessageRole;
    metadata: Record<string, string>;
    names: FoundNames | null;
  },
): Promise<SentMessage> {
  const { tenantId, principalId } = ctx.caller;
  const content = cleanText(input.content);
  const screened = await screenMessage(ctx, thread, { content, names: input.names });
  const message = { role: input.role, content: screened.content, metadata: input.metadata };
  await appendMessages(
    ctx.em,
    { ...input, tenantId, threadId: thread.id, createdBy: principalId, responseId: null },
    [{ ...message, id: input.id, status: 'completed', responsePosition: null }],
  );
  const entries = attributeTo(principalId, screened.found);
  await saveEntries(ctx, tenantId, { holder: { threadId: thread.id }, entries });
  await recordDetection(ctx.em, ctx.caller, {
    resource: { type: 'thread', id: thread.id },
    spaceId: thread.spaceId,
    dedupeKey: `message/${input.id}/pii`,
    found: screened.found,
  });
  const stored = await ctx.em.findOneOrFail(Message, { threadId: thread.id, id: input.id });
  return { message: stored, content, replayed: false };
}

/** The message of an earlier request with the same key, as its sender may see it. */
export async function replayedMessage(ctx: Context, claimed: string): Promise<SentMessage> {
  const [threadId = '', id = ''] = claimed.split('/');
  const found = await findThreadToWrite(ctx, threadId);
  const message = await ctx.em.findOneOrFail(Message, { threadId, id });
  const [shown] = await showMessages(ctx, found, [message]);
  return { message, content: shown?.content ?? message.content, replayed: true };
}
