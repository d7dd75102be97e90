import type { EntityManager } from '@mikro-orm/postgresql';
import type { EventType } from '#domain/foundation/events/catalogue.ts';
import {
  notificationRules,
  type NotificationRule,
  type LoggedEvent,
} from '#domain/foundation/events/notification-rules.ts';

interface LoggedRow {
  event_type: EventType;
  actor_id: string | null;
  resource_type: string;
  resource_id: string;
  metadata: Record<string, unknown>;
}

/** What a fan-out tells: an event, by its rule. */
export interface Telling {
  event: LoggedEvent;
  rule: NotificationRule;
}

/** The event that a fan-out tells of; null once its retention is over, or where no rule names it any more. */
export async function findEvent(
  em: EntityManager,
  { tenantId, eventId }: { tenantId: string; eventId: string },
): Promise<Telling | null> {
  const [row] = await em.execute<LoggedRow[]>(
    `select event_type, actor_id, resource_type, resource_id, metadata from events where tenant_id = ? and id = ?`,
    [tenantId, eventId],
  );
  const rule = row && notificationRules[row.event_type];
  if (row === undefined || rule === undefined) {
    return null;
  }
  const event = {
    tenantId,
    id: eventId,
    type: row.event_type,
    actorId: row.actor_id,
    resource: { type: row.resource_type, id: row.resource_id },
    metadata: row.metadata,
  };
  return { event, rule };
}
