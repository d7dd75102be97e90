import type { EntityManager } from '@mikro-orm/postgresql';
import type { EventType, ResourceType } from '#domain/foundation/events/catalogue.ts';
import type { LoggedEvent } from '#domain/foundation/events/logged-event.ts';
import { isNotified } from '#domain/foundation/events/notified-types.ts';
import { notificationRules, type NotificationRule } from './notification-rules.ts';

interface LoggedRow {
  event_type: EventType;
  actor_id: string | null;
  resource_type: ResourceType;
  resource_id: string;
  metadata: Record<string, unknown>;
  created_ms: number;
}

/** The event of a fan-out with its rule. */
export interface Notifiable {
  event: LoggedEvent;
  rule: NotificationRule;
}

/** The event of a fan-out; null once its retention is over, or if no rule names its type any more. */
export async function findEvent(
  em: EntityManager,
  { tenantId, eventId }: { tenantId: string; eventId: string },
): Promise<Notifiable | null> {
  const [row] = await em.execute<LoggedRow[]>(
    `select event_type, actor_id, resource_type, resource_id, metadata,
       (extract(epoch from created_at) * 1000)::double precision as created_ms
     from events where tenant_id = ? and id = ?`,
    [tenantId, eventId],
  );
  if (row === undefined || !isNotified(row.event_type)) {
    return null;
  }
  const event = {
    tenantId,
    id: eventId,
    type: row.event_type,
    actorId: row.actor_id,
    resource: { type: row.resource_type, id: row.resource_id },
    metadata: row.metadata,
    createdAt: new Date(row.created_ms),
  };
  return { event, rule: notificationRules[row.event_type] };
}
