import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { findProject } from '#domain/workspace/projects/find-project.ts';
import type { FoundNames } from '#domain/governance/redaction/found-names.ts';
import { appendScreened, replayedMessage, type SentMessage } from './add-message.ts';
import { inThreadsOf } from '#domain/conversations/threads/in-thread.ts';
import { requireSender } from '#domain/conversations/threads/sender-role.ts';
import { openThreadBranch } from '#domain/conversations/threads/thread-branches.ts';
import type { MessageRole } from '#domain/conversations/threads/thread-status.ts';
import { Thread } from '#domain/conversations/threads/thread.entity.ts';

export interface StartThread {
  /** Id for which redaction was prepared. Omitted: a new one. */
  threadId?: string;
  content: string;
  role: MessageRole;
  metadata: Record<string, string>;
  projectId: string | null;
  title: string | null;
  /** Name of the thread's first branch; null: any. */
  branchId: string | null;
  idempotency: IdempotentRequest | null;
}

/**
 * Creates a thread with its first message. @throws `missing_permission`, `project_not_found`, and as `addMessage`
 * does
 */
export async function startThread(
  ctx: Context,
  input: StartThread,
  names: FoundNames | null = null,
): Promise<SentMessage> {
  const there = await inThreadsOf(ctx, input.projectId);
  authorize(there.caller, 'messages.create');
  authorize(there.caller, 'threads.create');
  requireSender(there.caller, input.role, 'role');
  const spaceId = spaceOf(ctx.caller);
  const messageId = newId();
  const { threadId = newId() } = input;
  if (input.idempotency !== null) {
    const claimed = await claimKey(ctx, input.idempotency, `${threadId}/${messageId}`);
    if (claimed !== `${threadId}/${messageId}`) {
      return replayedMessage(ctx, claimed);
    }
  }
  // A project that is being deleted gets no thread.
  const projectId =
    input.projectId === null ? null : (await findProject(ctx, input.projectId, LockMode.PESSIMISTIC_READ)).id;
  const thread = ctx.em.create(Thread, {
    tenantId: ctx.caller.tenantId,
    id: threadId,
    spaceId,
    projectId,
    createdBy: ctx.caller.principalId,
    title: input.title === null ? null : cleanText(input.title),
  });
  await ctx.em.flush();
  const place = await openThreadBranch(ctx.em, thread, input.branchId);
  const shown = await appendScreened(ctx, thread, { ...input, ...place, id: messageId, names });
  await recordEvent(ctx.em, ctx.caller, {
    type: 'space.thread_created',
    resource: { type: 'thread', id: thread.id },
    metadata: { space_id: spaceId, project_id: projectId },
  });
  return shown;
}
