import type { NotificationRecord } from '#api/contract/notifications.ts';
import type { Notification } from '#domain/operations/notifications/notification.entity.ts';

export function presentNotification(notification: Notification): NotificationRecord {
  return {
    id: notification.id,
    event_id: notification.eventId,
    title: notification.title,
    body: notification.body ?? null,
    category: notification.category,
    resource_type: notification.resourceType ?? null,
    resource_id: notification.resourceId ?? null,
    read_at: notification.readAt?.toISOString() ?? null,
    created_at: notification.createdAt.toISOString(),
  };
}
