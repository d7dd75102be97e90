import type { Context } from '#domain/foundation/access/context.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { findThread } from './find-thread.ts';

/**
 * Makes a thread inaccessible at once; its messages and their token mappings are purged within a minute. Its
 * responses continue. @throws `thread_not_found`, `missing_permission`
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
