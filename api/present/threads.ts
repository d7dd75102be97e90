import type { MessageRecord, ThreadRecord } from '#api/contract/threads.ts';
import type { ShownThread } from '#domain/conversations/threads/read-threads.ts';
import type { ShownMessage } from '#domain/conversations/messages/show-messages.ts';

export function presentThread({ thread, projectId, piiMapping }: ShownThread): ThreadRecord {
  const { status } = thread;
  if (status === 'deleted') {
    throw new Error('A deleted thread is shown to nobody.');
  }
  return {
    id: thread.id,
    tenant_id: thread.tenantId,
    space_id: thread.spaceId,
    project_id: projectId,
    created_by: thread.createdBy,
    title: thread.title ?? null,
    status,
    pii_mapping:
      piiMapping === null
        ? null
        : {
            version: 1,
            entries: piiMapping.map(({ token, type, count, value }) => ({ token, type, count, value })),
          },
    created_at: thread.createdAt.toISOString(),
    updated_at: thread.updatedAt.toISOString(),
  };
}

export function presentMessage({ message, content }: ShownMessage): MessageRecord {
  return {
    id: message.id,
    thread_id: message.threadId,
    parent_message_id: message.parentMessageId ?? null,
    branch_id: message.branchId,
    role: message.role,
    content,
    status: message.status,
    metadata: message.metadata,
    response_id: message.responseId ?? null,
    created_by: message.createdBy,
    created_at: message.createdAt.toISOString(),
  };
}
