import type { EntityManager } from '@mikro-orm/postgresql';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { lastOf } from '#domain/conversations/threads/thread-branches.ts';
import type { MessageRole, MessageStatus } from '#domain/conversations/threads/thread-status.ts';

export interface NewMessage {
  /** Omitted: a new id. */
  id?: string;
  role: MessageRole;
  content: string;
  status: MessageStatus;
  metadata: Record<string, string>;
  /** Its position in the input or output of its response. */
  responsePosition: number | null;
}

export interface AppendTo {
  tenantId: string;
  threadId: string;
  branchId: string;
  createdBy: string;
  /** The message before the first one; omitted: the last of the branch. */
  parentMessageId?: string | null;
  responseId: string | null;
}

/**
 * Appends messages to a branch, in order. Existing messages of a response stay unchanged, so a repeat has no effect.
 * Locks the thread's row, so appends to one thread are serialised.
 * @returns the new ids; none when the thread was deleted
 */
export async function appendMessages(
  em: EntityManager,
  to: AppendTo,
  messages: readonly NewMessage[],
): Promise<string[]> {
  const [thread] = await em.execute<{ next_position: number }[]>(
    `update threads set next_position = next_position + ?, updated_at = now()
     where id = ? and status <> 'deleted' returning next_position`,
    [messages.length, to.threadId],
  );
  if (thread === undefined) {
    return [];
  }
  const first = thread.next_position - messages.length;
  const ids: string[] = [];
  let parent =
    to.parentMessageId === undefined
      ? await lastOf(em, { tenantId: to.tenantId, id: to.threadId }, to.branchId)
      : to.parentMessageId;
  for (const [index, message] of messages.entries()) {
    const id = message.id ?? newId();
    const inserted = await em.execute(
      `insert into messages (tenant_id, thread_id, id, position, branch_id, parent_message_id, role, content, status,
         metadata, created_by, response_id, response_position)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       on conflict (tenant_id, thread_id, response_id, response_position) do nothing returning id`,
      [
        to.tenantId,
        to.threadId,
        id,
        first + index,
        to.branchId,
        parent,
        message.role,
        message.content,
        message.status,
        JSON.stringify(message.metadata),
        to.createdBy,
        to.responseId,
        message.responsePosition,
      ],
    );
    if (inserted.length > 0) {
      ids.push(id);
      parent = id;
    }
  }
  return ids;
}
