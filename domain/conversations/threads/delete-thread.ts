import type { Context } from '#domain/foundation/access/context.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { findThread } from './find-thread.ts';

/**
 * Takes a thread out of reach at once; its messages and what their tokens stand for are purged within a minute.
 * Responses that belong to it go on. @throws `thread_not_found`, `missing_permission`
 */
export async function deleteThread(ctx: Context, input: { threadId: string }): Promise<void> {
  const { thread } = await findThread(ctx, input.threadId, 'threads.delete', { lock: true });
  thread.become('deleted');
  thread.updatedAt = await databaseNow(ctx.em);
  await ctx.em.flush();
  await recordEvent(ctx.em, ctx.caller, {
    type: 'space.thread_deleted',
    resource: { type: 'thread', id: thread.id },
    metadata: { space_id: thread.spaceId },
  });
}
