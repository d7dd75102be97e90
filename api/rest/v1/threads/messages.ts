import type { z } from 'zod';
import type { addMessageBody, startThreadBody } from '#api/contract/threads.ts';
import type { AddMessage } from '#domain/conversations/messages/add-message.ts';
import type { StartThread } from '#domain/conversations/messages/start-thread.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';

/** Events that the screening of a message may record. */
export const screens = ['security.pii_detected', 'security.content_blocked'] as const;

/** Maps wire names to the use cases' names. */
export function toNewThread(body: z.infer<typeof startThreadBody>): Omit<StartThread, 'idempotency'> {
  return {
    threadId: newId(),
    content: body.content,
    role: body.role,
    metadata: body.metadata ?? {},
    projectId: body.project_id ?? null,
    title: body.title ?? null,
    branchId: body.branch_id ?? null,
  };
}

export function toNewMessage(
  body: z.infer<typeof addMessageBody>,
): Omit<AddMessage, 'threadId' | 'idempotency'> {
  return {
    content: body.content,
    role: body.role,
    metadata: body.metadata ?? {},
    parentMessageId: body.parent_message_id ?? null,
    branchId: body.branch_id ?? null,
  };
}
