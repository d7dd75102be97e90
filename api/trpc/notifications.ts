import * as contract from '#api/contract/notifications.ts';
import * as inputs from '#api/contract/procedures.ts';
import { presentNotification } from '#api/present/notifications.ts';
import { toPage } from '#api/present/page.ts';
import { countUnread } from '#domain/operations/notifications/count-unread.ts';
import { findNotification } from '#domain/operations/notifications/find-notification.ts';
import { listNotifications } from '#domain/operations/notifications/list-notifications.ts';
import { markAllRead } from '#domain/operations/notifications/mark-all-read.ts';
import { markRead } from '#domain/operations/notifications/mark-read.ts';
import { procedure, router } from './trpc.ts';

const own = {
  permission: 'notifications.read',
  audit: { none: 'a user’s read state is not audited' },
} as const;

export const notifications = router({
  list: procedure(own)
    .input(inputs.listNotificationsInput)
    .output(contract.notificationPage)
    .query(async ({ ctx: { request }, input: { limit, cursor, category, unread_only: unreadOnly } }) => {
      const page = await request.inContext(null, (ctx) =>
        listNotifications(ctx, { limit, cursor: cursor ?? null, category: category ?? null, unreadOnly }),
      );
      return toPage({ ...page, items: page.items.map(presentNotification) });
    }),

  unreadCount: procedure(own)
    .input(inputs.noInput)
    .output(contract.unreadCount)
    .query(async ({ ctx: { request } }) => ({ data: { count: await request.inContext(null, countUnread) } })),

  get: procedure(own)
    .input(inputs.notificationInput)
    .output(contract.notificationEnvelope)
    .query(async ({ ctx: { request }, input: { notification_id: notificationId } }) => ({
      data: presentNotification(
        await request.inContext(null, (ctx) => findNotification(ctx, { notificationId })),
      ),
    })),

  read: procedure(own)
    .input(inputs.notificationInput)
    .output(contract.markedRead)
    .mutation(async ({ ctx: { request }, input: { notification_id: notificationId } }) => {
      const readAt = await request.inContext(null, (ctx) => markRead(ctx, { notificationId }));
      return { data: { id: notificationId, read_at: readAt.toISOString() } };
    }),

  readAll: procedure(own)
    .input(inputs.noInput)
    .output(contract.markedAllRead)
    .mutation(async ({ ctx: { request } }) => ({
      data: { marked_count: await request.inContext(null, markAllRead) },
    })),
});
