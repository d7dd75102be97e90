import type { Context } from '#domain/foundation/access/context.ts';
import { Notification } from './notification.entity.ts';
import { ownNotifications } from './own-notifications.ts';

/** How many of the caller's own notifications are unread. Counted, so that concurrent writes cannot make it inexact. */
export async function countUnread(ctx: Context): Promise<number> {
  return ctx.em.count(Notification, { userId: await ownNotifications(ctx), readAt: null });
}
