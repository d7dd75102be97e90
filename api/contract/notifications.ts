import { z } from 'zod';
import { data, page, pageQuery, timestamp, uuid } from './common.ts';

export const eventCategory = z.enum(['space', 'collection', 'security', 'system']);

export const notificationParams = z.strictObject({ notification_id: uuid });

export const notificationQuery = z.strictObject({
  ...pageQuery,
  category: eventCategory.optional(),
  unread_only: z.enum(['true', 'false']).default('false'),
});

export const notificationRecord = z
  .strictObject({
    id: uuid,
    event_id: uuid.meta({ description: 'The underlying event.' }),
    title: z.string(),
    body: z.string().nullable(),
    category: eventCategory,
    resource_type: z.string().nullable().meta({ description: 'What it is about, such as `connector`.' }),
    resource_id: z.string().nullable().meta({
      description: 'Its id; `body` names the space and collection that its path needs.',
    }),
    read_at: timestamp.nullable().meta({ description: 'Null means unread.' }),
    created_at: timestamp,
  })
  .meta({ id: 'Notification' });

export type NotificationRecord = z.infer<typeof notificationRecord>;

export const notificationEnvelope = data(notificationRecord);
export const notificationPage = page(notificationRecord);
export const unreadCount = data(z.strictObject({ count: z.int() }));
export const markedRead = data(z.strictObject({ id: uuid, read_at: timestamp }));
export const markedAllRead = data(z.strictObject({ marked_count: z.int() }));
