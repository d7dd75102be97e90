import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor, Anonymous } from '#domain/foundation/access/caller.ts';
import { enqueueFanOut, type ToldEvent } from './enqueue-fan-out.ts';
import { categoryOf, type EventType, type ResourceType } from './catalogue.ts';

export interface AuditEvent {
  type: EventType;
  resource: { type: ResourceType; id: string };
  /** Strings are cut at 1,000 characters; never a secret, a prompt or an answer. */
  metadata?: Record<string, string | number | boolean | null>;
  outcome?: 'success' | 'failure' | 'denied';
  /** Of a resource that was changed: the members that now have another value. */
  changedFields?: readonly string[];
  /** Why it was done, as a code. */
  reason?: string;
  /** When given, the event is written once however often it is recorded. */
  dedupeKey?: string;
}

/** An event as its row, for SQL that writes it together with its change; the database gives it its id. */
export interface EventRow {
  category: string;
  eventType: EventType;
  /** null where nobody has proved yet who they are. */
  actorId: string | null;
  resourceType: ResourceType;
  resourceId: string;
  metadata: Record<string, unknown>;
  dedupeKey: string | null;
}

export function toEventRow(actor: Actor | Anonymous, event: AuditEvent): EventRow {
  const metadata = {
    outcome: event.outcome ?? 'success',
    actor_type: actor.principalType,
    via: actor.origin.via,
    request_id: actor.origin.requestId,
    ...(event.changedFields === undefined ? {} : { changed_fields: event.changedFields }),
    ...(event.reason === undefined ? {} : { reason: event.reason }),
    ...event.metadata,
  };
  return {
    category: categoryOf(event.type),
    eventType: event.type,
    actorId: actor.principalId,
    resourceType: event.resource.type,
    resourceId: event.resource.id,
    metadata: Object.fromEntries(
      Object.entries(metadata).map(([key, value]) => [
        key,
        typeof value === 'string' ? value.slice(0, 1_000).toWellFormed() : value,
      ]),
    ),
    dedupeKey: event.dedupeKey ?? null,
  };
}

/** The same, as the notification rules see it. */
export function toTold(tenantId: string, row: EventRow): ToldEvent {
  return {
    tenantId,
    actorId: row.actorId,
    type: row.eventType,
    resource: { type: row.resourceType, id: row.resourceId },
    metadata: row.metadata,
  };
}

/**
 * Writes an event into the transaction of the change it tells of and, where a notification rule names it, owes its
 * telling to the engine.
 * @returns false when the dedupe key was known.
 */
export async function recordEvent(
  em: EntityManager,
  actor: Actor | Anonymous,
  event: AuditEvent,
): Promise<boolean> {
  if (event.dedupeKey !== undefined) {
    const fresh = await em.execute(
      'insert into event_dedupe (tenant_id, key) values (?, ?) on conflict do nothing returning key',
      [actor.tenantId, event.dedupeKey],
    );
    if (fresh.length === 0) {
      return false;
    }
  }
  const row = toEventRow(actor, event);
  const ip = await actor.origin.sealedIp?.(em, actor.tenantId);
  const [written] = await em.execute<{ id: string }[]>('select app.record_event(?, ?, ?, ?, ?, ?, ?) as id', [
    actor.tenantId,
    row.category,
    row.eventType,
    row.resourceType,
    row.resourceId,
    JSON.stringify(ip == null ? row.metadata : { ...row.metadata, ip }),
    row.actorId,
  ]);
  if (written !== undefined) {
    await enqueueFanOut(em, { ...toTold(actor.tenantId, row), id: written.id });
  }
  return true;
}
