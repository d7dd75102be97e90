import { LockMode } from '@mikro-orm/core';
import { validate } from 'uuid';
import type { Context } from '#domain/access/context.ts';
import type { Permission } from '#domain/access/permissions.ts';
import { spaceOf } from '#domain/access/space-of.ts';
import { DomainError, notFound } from '#domain/kernel/errors.ts';
import { authorizeThread } from './authorize-thread.ts';
import { Thread } from './thread.entity.ts';

/** @throws `thread_not_found`, also for one that was deleted or is of another space; `missing_permission` */
export async function findThread(
  ctx: Context,
  threadId: string,
  permission: Permission,
  options: { lock: boolean } = { lock: false },
): Promise<Thread> {
  const thread = validate(threadId)
    ? await ctx.em.findOne(
        Thread,
        { id: threadId, spaceId: spaceOf(ctx.caller), status: { $ne: 'deleted' } },
        options.lock ? { lockMode: LockMode.PESSIMISTIC_WRITE } : {},
      )
    : null;
  if (thread === null) {
    throw notFound('thread_not_found');
  }
  authorizeThread(ctx.caller, permission, thread.createdBy);
  return thread;
}

/** @throws `thread_archived` */
export function requireActive(thread: Thread): void {
  if (thread.status === 'archived') {
    throw new DomainError('thread_archived', 'This thread is archived.');
  }
}
