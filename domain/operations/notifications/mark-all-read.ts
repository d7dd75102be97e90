import type { Context } from '#domain/foundation/access/context.ts';
import { ownNotifications } from './own-notifications.ts';

/**
 * Marks all of the caller's notifications that existed at the time of the request as read, with one time. Later ones
 * stay unread, since the user has not seen them. @returns how many were unread
 */
export async function markAllRead(ctx: Context): Promise<number> {
  const userId = await ownNotifications(ctx);
  const [row] = await ctx.em.execute<{ marked: number }[]>(
    `with mine as (
       select id from notifications
        where tenant_id = ? and user_id = ? and read_at is null and created_at <= now()
        order by id for no key update),
     marked as (
       update notifications n set read_at = now() from mine where n.tenant_id = ? and n.id = mine.id returning 1)
     select count(*)::int as marked from marked`,
    [ctx.caller.tenantId, userId, ctx.caller.tenantId],
  );
  return row?.marked ?? 0;
}
