import type { Context } from '#domain/foundation/access/context.ts';
import type { EventCategory } from '#domain/foundation/events/catalogue.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { Notification } from './notification.entity.ts';
import { ownNotifications } from './own-notifications.ts';

export interface ListNotifications {
  limit: number;
  cursor: string | null;
  category: EventCategory | null;
  unreadOnly: boolean;
}

/** The caller's own notifications, newest first. */
export async function listNotifications(ctx: Context, input: ListNotifications): Promise<Page<Notification>> {
  const userId = await ownNotifications(ctx);
  const { category, unreadOnly } = input;
  return keysetPage(ctx, {
    limit: input.limit,
    cursor: input.cursor,
    entity: Notification,
    where: {
      userId,
      ...(category === null ? {} : { category }),
      ...(unreadOnly ? { readAt: null } : {}),
    },
    operation: 'notifications.list',
    filters: { userId, category, unreadOnly },
  });
}
