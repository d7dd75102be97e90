import { validate } from 'uuid';
import type { Context } from '#domain/foundation/access/context.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { DomainError, notFound } from '#domain/foundation/kernel/errors.ts';
import { authorizeThread } from './authorize-thread.ts';
import { inThreadsOf, type FoundThread } from './in-thread.ts';
import { Thread } from './thread.entity.ts';

type Found = FoundThread<Context>;

/** @throws `thread_not_found`, also for a deleted thread or another space's; `missing_permission` */
export async function findThread(
  ctx: Context,
  threadId: string,
  permission: Permission,
  options: { lock: boolean } = { lock: false },
): Promise<Found> {
  const found = await lookUp(ctx, threadId, options);
  if (found === null) {
    throw notFound('thread_not_found');
  }
  authorizeThread(found.there.caller, permission, found.thread.createdBy);
  return found;
}

/**
 * Like `findThread` for a caller who is to write there, also in its own thread. The error does not disclose to a
 * caller without the permission whether the thread exists.
 */
export async function findThreadToWrite(
  ctx: Context,
  threadId: string,
  options: { lock: boolean } = { lock: false },
): Promise<Found> {
  if (!ctx.caller.isMember) {
    // Projects have roles only for members of their space.
    authorize(ctx.caller, 'messages.create');
  }
  const found = await lookUp(ctx, threadId, options);
  authorize((found?.there ?? ctx).caller, 'messages.create');
  if (found === null) {
    throw notFound('thread_not_found');
  }
  return found;
}

async function lookUp(ctx: Context, threadId: string, { lock }: { lock: boolean }): Promise<Found | null> {
  if (lock && validate(threadId)) {
    // Not `for update`: rows that refer to the thread, as its responses do, can still be written.
    await ctx.em.execute(
      `select id from threads where id = ? and space_id = ? and status <> 'deleted' for no key update`,
      [threadId, spaceOf(ctx.caller)],
    );
  }
  const thread = validate(threadId)
    ? await ctx.em.findOne(
        Thread,
        { id: threadId, spaceId: spaceOf(ctx.caller), status: { $ne: 'deleted' } },
        { refresh: lock },
      )
    : null;
  return thread === null ? null : { thread, there: await inThreadsOf(ctx, thread.projectId) };
}

/** @throws `thread_archived` */
export function requireActive({ thread }: Pick<Found, 'thread'>): void {
  if (thread.status === 'archived') {
    throw new DomainError('thread_archived', 'This thread is archived.');
  }
}
