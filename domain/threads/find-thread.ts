import { LockMode } from '@mikro-orm/core';
import { validate } from 'uuid';
import type { Caller } from '#domain/access/caller.ts';
import type { Context } from '#domain/access/context.ts';
import type { Permission } from '#domain/access/permissions.ts';
import { refusal } from '#domain/access/policy.ts';
import { spaceOf } from '#domain/access/space-of.ts';
import { DomainError, notFound } from '#domain/kernel/errors.ts';
import { Thread } from './thread.entity.ts';

/** Whether the caller's key lets it at threads of its own: it is not cut down, or to messages among others. */
export function reachesOwnThreads({ keyPermissions }: Caller, permission: Permission): boolean {
  return (
    keyPermissions === null ||
    keyPermissions.includes('messages.create') ||
    keyPermissions.includes(permission)
  );
}

/** One's own thread needs no grant, other people's need the permission. @throws `missing_permission` */
export function authorizeThread(caller: Caller, permission: Permission, owner: string): void {
  const own = owner === caller.principalId && reachesOwnThreads(caller, permission);
  if (!own && !caller.granted.has(permission)) {
    throw refusal(caller, [permission], permission);
  }
}

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
