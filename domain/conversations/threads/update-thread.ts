import type { Context } from '#domain/foundation/access/context.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { findThread } from './find-thread.ts';
import { withMapping, type ShownThread } from './read-threads.ts';

export interface UpdateThread {
  threadId: string;
  /** undefined: unchanged. */
  title?: string | null | undefined;
  status?: 'active' | 'archived' | undefined;
}

/** Renames, archives or unarchives a thread. @throws `thread_not_found`, `missing_permission` */
export async function updateThread(ctx: Context, input: UpdateThread): Promise<ShownThread> {
  const found = await findThread(ctx, input.threadId, 'threads.update', { lock: true });
  const { thread } = found;
  if (input.title !== undefined) {
    thread.title = input.title === null ? null : cleanText(input.title);
  }
  const moved = input.status !== undefined && thread.become(input.status);
  thread.updatedAt = await databaseNow(ctx.em);
  await ctx.em.flush();
  if (moved && thread.status === 'archived') {
    await recordEvent(ctx.em, ctx.caller, {
      type: 'space.thread_archived',
      resource: { type: 'thread', id: thread.id },
      metadata: { space_id: thread.spaceId },
    });
  }
  return withMapping(ctx, found);
}
