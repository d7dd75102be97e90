import type { Context } from '#domain/access/context.ts';
import { authorize } from '#domain/access/policy.ts';
import { spaceOf } from '#domain/access/space-of.ts';
import { recordEvent } from '#domain/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/idempotency/idempotency.ts';
import { cleanText } from '#domain/kernel/clean-text.ts';
import { newId } from '#domain/kernel/ids.ts';
import { refuseGone } from '#domain/persistence/refuse-gone.ts';
import { findProject } from '#domain/projects/find-project.ts';
import type { FoundNames } from '#domain/governance/found-names.ts';
import { messageBehind, replayedMessage, type SentMessage } from './add-message.ts';
import { inThreadsOf } from './in-thread.ts';
import { requireSender } from './sender-role.ts';
import { openThreadBranch } from './thread-branches.ts';
import type { MessageRole } from './thread-status.ts';
import { Thread } from './thread.entity.ts';

export interface StartThread {
  /** Redaction that was done beforehand is for this one. Left out: a new one. */
  threadId?: string;
  content: string;
  role: MessageRole;
  metadata: Record<string, string>;
  projectId: string | null;
  title: string | null;
  /** What the thread's first branch is to be called; null: any. */
  branchId: string | null;
  idempotency: IdempotentRequest | null;
}

/** A new thread with its first message. @throws `missing_permission`, `project_not_found`, and as `addMessage` does */
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
  const projectId = input.projectId === null ? null : (await findProject(ctx, input.projectId)).id;
  const thread = ctx.em.create(Thread, {
    tenantId: ctx.caller.tenantId,
    id: threadId,
    spaceId,
    projectId,
    createdBy: ctx.caller.principalId,
    title: input.title === null ? null : cleanText(input.title),
  });
  const gone = refuseGone('project_not_found', 'threads_tenant_id_space_id_project_id_fkey');
  await ctx.em.flush().catch(gone);
  const place = await openThreadBranch(ctx.em, thread, input.branchId);
  const shown = await messageBehind(ctx, thread, { ...input, ...place, id: messageId, names });
  await recordEvent(ctx.em, ctx.caller, {
    type: 'space.thread_created',
    resource: { type: 'thread', id: thread.id },
    metadata: { space_id: spaceId, project_id: projectId },
  });
  return shown;
}
