import { z } from 'zod';
import { piiKinds } from '#domain/governance/recognition/pii-kinds.ts';
import {
  messageRoles,
  messageStatuses,
  shownThreadStatuses,
  threadLimits,
} from '#domain/conversations/threads/thread-status.ts';
import { data, idempotencyKey, page, pageQuery, spaceParams, timestamp, uuid } from './common.ts';

export const threadParams = spaceParams.extend({ thread_id: uuid });
export const threadHeaders = z.looseObject({ 'idempotency-key': idempotencyKey.optional() });

const title = z.string().trim().min(1).max(threadLimits.title).nullable();
const metadata = z
  .record(z.string().min(1).max(64), z.string().max(512))
  .refine((entries) => Object.keys(entries).length <= threadLimits.metadata, 'must have at most 16 entries')
  .nullish();

const message = {
  content: z.string().min(1).max(threadLimits.content),
  role: z
    .enum(messageRoles)
    .default('user')
    .meta({ description: 'system and assistant: service accounts with threads.update only.' }),
  metadata,
  branch_id: uuid.nullish(),
};

export const addMessageBody = z.strictObject({
  ...message,
  parent_message_id: uuid.nullish().meta({
    description: 'The message before it. One that is not the last of its branch begins a new branch.',
  }),
});

export const startThreadBody = z.strictObject({
  ...message,
  project_id: uuid.nullish(),
  title: title.optional(),
});

export const updateThreadBody = z
  .strictObject({ title: title.optional(), status: z.enum(shownThreadStatuses).optional() })
  .refine((body) => Object.keys(body).length > 0, 'must change something');

const filters = { status: z.enum(shownThreadStatuses).optional(), project_id: uuid.optional() };

export const listThreadsQuery = z.strictObject({ ...pageQuery, ...filters });
export const listMessagesQuery = z.strictObject({ ...pageQuery, branch_id: uuid.optional() });

const piiMapping = z.strictObject({
  version: z.literal(1),
  entries: z.array(
    z.strictObject({
      token: z.string(),
      type: z.enum([...piiKinds, 'text']),
      count: z.int(),
      value: z.string(),
    }),
  ),
});

export const threadRecord = z
  .strictObject({
    id: uuid,
    tenant_id: uuid,
    space_id: uuid,
    project_id: uuid.nullable(),
    created_by: uuid,
    title: z.string().nullable(),
    status: z.enum(shownThreadStatuses),
    pii_mapping: piiMapping
      .nullable()
      .meta({ description: 'Null without threads.read_pii, and where nothing was replaced.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Thread' });

export const messageRecord = z
  .strictObject({
    id: uuid,
    thread_id: uuid,
    parent_message_id: uuid.nullable(),
    branch_id: uuid,
    role: z.enum(messageRoles),
    content: z.string(),
    status: z.enum(messageStatuses),
    metadata: z.record(z.string(), z.string()),
    response_id: z.string().nullable(),
    created_by: uuid,
    created_at: timestamp,
  })
  .meta({ id: 'Message' });

export type ThreadRecord = z.infer<typeof threadRecord>;
export type MessageRecord = z.infer<typeof messageRecord>;

export const threadEnvelope = data(threadRecord);
export const threadPage = page(threadRecord);
export const messageEnvelope = data(messageRecord);
export const messagePage = page(messageRecord);
