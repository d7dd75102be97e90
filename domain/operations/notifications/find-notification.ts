import type { Context } from '#domain/foundation/access/context.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { Notification } from './notification.entity.ts';
import { ownNotifications } from './own-notifications.ts';

/** @throws `notification_not_found`, also for another user's notification */
export async function findNotification(
  ctx: Context,
  { notificationId }: { notificationId: string },
): Promise<Notification> {
  const userId = await ownNotifications(ctx);
  const found = await ctx.em.findOne(Notification, { id: notificationId, userId });
  if (found === null) {
    throw notFound('notification_not_found');
  }
  return found;
}
