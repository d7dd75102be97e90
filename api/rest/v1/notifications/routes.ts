import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/notifications.ts';
import { presentNotification } from '#api/present/notifications.ts';
import { toPage } from '#api/present/page.ts';
import { countUnread } from '#domain/operations/notifications/count-unread.ts';
import { findNotification } from '#domain/operations/notifications/find-notification.ts';
import { listNotifications } from '#domain/operations/notifications/list-notifications.ts';
import { markAllRead } from '#domain/operations/notifications/mark-all-read.ts';
import { markRead } from '#domain/operations/notifications/mark-read.ts';

const tags = ['Notifications'];
const config = {
  permission: 'notifications.read',
  audit: { none: 'a user’s read state is not audited' },
} as const;
const one = '/notifications/:notification_id';

/** The caller's own notifications; those of other users answer like unknown ones. */
export async function notificationRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.get(
    '/notifications',
    {
      config,
      schema: {
        tags,
        operationId: 'listNotifications',
        summary: 'List your notifications, newest first',
        querystring: contract.notificationQuery,
        response: { 200: contract.notificationPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor, category, unread_only: unreadOnly } = request.query;
      const page = await request.inContext(null, (ctx) =>
        listNotifications(ctx, {
          limit,
          cursor: cursor ?? null,
          category: category ?? null,
          unreadOnly: unreadOnly === 'true',
        }),
      );
      return toPage({ ...page, items: page.items.map(presentNotification) });
    },
  );

  app.get(
    '/notifications/unread-count',
    {
      config,
      schema: {
        tags,
        operationId: 'countUnreadNotifications',
        summary: 'Count your unread notifications',
        response: { 200: contract.unreadCount, ...errorResponses },
      },
    },
    async (request) => ({ data: { count: await request.inContext(null, countUnread) } }),
  );

  app.get(
    one,
    {
      config,
      schema: {
        tags,
        operationId: 'getNotification',
        summary: 'Read one of your notifications',
        params: contract.notificationParams,
        response: { 200: contract.notificationEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { notification_id: notificationId } = request.params;
      return {
        data: presentNotification(
          await request.inContext(null, (ctx) => findNotification(ctx, { notificationId })),
        ),
      };
    },
  );

  app.post(
    `${one}/read`,
    {
      config,
      schema: {
        tags,
        operationId: 'readNotification',
        summary: 'Mark one of your notifications as read',
        description: 'A repeated request returns the time of the first.',
        params: contract.notificationParams,
        response: { 200: contract.markedRead, ...errorResponses },
      },
    },
    async (request) => {
      const { notification_id: notificationId } = request.params;
      const readAt = await request.inContext(null, (ctx) => markRead(ctx, { notificationId }));
      return { data: { id: notificationId, read_at: readAt.toISOString() } };
    },
  );

  app.post(
    '/notifications/read-all',
    {
      config,
      schema: {
        tags,
        operationId: 'readAllNotifications',
        summary: 'Mark all of your notifications as read',
        description:
          'Applies to the notifications that exist when the request arrives; later ones stay unread.',
        response: { 200: contract.markedAllRead, ...errorResponses },
      },
    },
    async (request) => ({ data: { marked_count: await request.inContext(null, markAllRead) } }),
  );
}
