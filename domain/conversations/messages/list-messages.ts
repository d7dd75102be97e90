import type { Context } from '#domain/foundation/access/context.ts';
import { findThread } from '#domain/conversations/threads/find-thread.ts';
import { decodeCursor, encodeCursor, type Page } from '#domain/foundation/kernel/page.ts';
import { fitting } from '#domain/foundation/persistence/page-bytes.ts';
import { Message } from './message.entity.ts';
import { showMessages, type ShownMessage } from './show-messages.ts';
import { lineOf, requireBranch } from '#domain/conversations/threads/thread-branches.ts';

export interface ListMessages {
  threadId: string;
  /** The branch whose line of messages is listed; null: all branches. */
  branchId: string | null;
  limit: number;
  cursor: string | null;
}

/** A thread's messages, oldest first. @throws `thread_not_found`, `branch_not_found`, `missing_permission` */
export async function listMessages(ctx: Context, input: ListMessages): Promise<Page<ShownMessage>> {
  const found = await findThread(ctx, input.threadId, 'messages.read');
  const { thread } = found;
  const branchId = input.branchId === null ? null : await requireBranch(ctx.em, thread, input.branchId);
  const scope = {
    tenantId: thread.tenantId,
    operation: 'messages.list',
    filters: { threadId: thread.id, branchId },
  };
  const after = input.cursor === null ? -1 : Number(decodeCursor(ctx.secrets, scope, input.cursor).id);
  const rows = await ctx.em.execute<{ id: string; bytes: number }[]>(
    branchId === null
      ? 'select id, octet_length(content) as bytes from messages where thread_id = ? and position > ? order by position limit ?'
      : `${lineOf} select m.id, octet_length(m.content) as bytes from line l
           join messages m on m.tenant_id = l.tenant_id and m.thread_id = l.thread_id and m.branch_id = l.id
             and m.position <= l.upto
         where m.position > ? order by m.position limit ?`,
    branchId === null ? [thread.id, after, input.limit + 1] : [thread.id, branchId, after, input.limit + 1],
  );
  const ids = fitting(rows.slice(0, input.limit)).map((row) => row.id);
  const messages = await ctx.em.find(
    Message,
    { threadId: thread.id, id: { $in: ids } },
    { orderBy: { position: 'asc' } },
  );
  const last = messages.at(-1);
  return {
    items: await showMessages(ctx, found, messages),
    nextCursor:
      last === undefined || rows.length === ids.length
        ? null
        : encodeCursor(ctx.secrets, scope, { createdAt: '', id: String(last.position) }),
  };
}
