import type { Context } from '#domain/foundation/access/context.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { ownNotifications } from './own-notifications.ts';

/**
 * Marks one of the caller's own notifications as read. A repeated call returns the first time. @throws
 * `notification_not_found`
 */
export async function markRead(ctx: Context, { notificationId }: { notificationId: string }): Promise<Date> {
  const userId = await ownNotifications(ctx);
  const [row] = await ctx.em.execute<{ read_at: string }[]>(
    `update notifications set read_at = coalesce(read_at, now())
      where tenant_id = ? and id = ? and user_id = ? returning read_at`,
    [ctx.caller.tenantId, notificationId, userId],
  );
  if (row === undefined) {
    throw notFound('notification_not_found');
  }
  return new Date(row.read_at);
}
