import { defineEntity } from '@mikro-orm/core';
import type { MessageRole, MessageStatus } from '#domain/conversations/threads/thread-status.ts';

const schema = defineEntity({
  name: 'Message',
  tableName: 'messages',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    threadId: p.uuid().primary(),
    id: p.uuid().primary(),
    position: p.integer(),
    branchId: p.uuid(),
    parentMessageId: p.uuid().nullable(),
    role: p.text().$type<MessageRole>(),
    content: p.text(),
    status: p.text().$type<MessageStatus>().default('completed'),
    metadata: p.json<Record<string, string>>().defaultRaw("'{}'"),
    createdBy: p.uuid(),
    responseId: p.text().nullable(),
    responsePosition: p.integer().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
  }),
});

/** One message of a thread; immutable. */
export class Message extends schema.class {}
schema.setClass(Message);
