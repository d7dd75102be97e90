import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor, Anonymous } from '#domain/foundation/access/caller.ts';
import { toColumns } from '#domain/foundation/persistence/rows.ts';
import { categoryOf, type EventType, type ResourceType } from './catalogue.ts';
import { fanOutOf } from './fan-out.ts';

export interface AuditEvent {
  type: EventType;
  resource: { type: ResourceType; id: string };
  /** Strings are cut at 1,000 characters. Never holds a secret, a prompt or an answer. */
  metadata?: Record<string, string | number | boolean | null>;
  outcome?: 'success' | 'failure' | 'denied';
  /** The members of the changed resource that have a new value. */
  changedFields?: readonly string[];
  /** The reason for the change, as a code. */
  reason?: string;
  /** When given, repeated recording writes the event once. */
  dedupeKey?: string;
  /** False: notifies nobody, although others of its type do, such as an answer that nobody waited long for. */
  notify?: boolean;
}

/** An event as `app.record_events` writes it, with its fan-out if it has one. The database generates the id. */
export type EventRow = Record<string, unknown>;

export function toEventRow(
  actor: Actor | Anonymous,
  event: AuditEvent,
  more: { ip?: string | null } = {},
): EventRow {
  const metadata = cut({
    outcome: event.outcome ?? 'success',
    actor_type: actor.principalType,
    via: actor.origin.via,
    request_id: actor.origin.requestId,
    ...(event.changedFields === undefined ? {} : { changed_fields: event.changedFields }),
    ...(event.reason === undefined ? {} : { reason: event.reason }),
    ...event.metadata,
  });
  const { tenantId, principalId: actorId } = actor;
  const { type, resource } = event;
  const fanOut = event.notify === false ? null : fanOutOf({ tenantId, actorId, type, resource, metadata });
  return {
    category: categoryOf(type),
    event_type: type,
    // null before authentication
    actor_id: actorId,
    resource_type: resource.type,
    resource_id: resource.id,
    metadata: more.ip == null ? metadata : { ...metadata, ip: more.ip },
    dedupe_key: event.dedupeKey ?? null,
    fan_out: fanOut === null ? null : toColumns(fanOut),
  };
}

function cut(metadata: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(metadata).map(([key, value]) => [
      key,
      typeof value === 'string' ? value.slice(0, 1_000).toWellFormed() : value,
    ]),
  );
}

/**
 * Records an event in the transaction of its change and, if its type has a fan-out, enqueues the start of it.
 * @returns false when the dedupe key exists already.
 */
export async function recordEvent(
  em: EntityManager,
  actor: Actor | Anonymous,
  event: AuditEvent,
): Promise<boolean> {
  const { dedupeKey } = event;
  // Saves sealing the address of a repeat; the insert claims the key, not this look-up.
  if (dedupeKey !== undefined && actor.origin.sealedIp !== undefined) {
    const known = await em.execute('select from event_dedupe where tenant_id = ? and key = ?', [
      actor.tenantId,
      dedupeKey,
    ]);
    if (known.length > 0) {
      return false;
    }
  }
  const ip = await actor.origin.sealedIp?.(em, actor.tenantId);
  const [row] = await em.execute<{ written: number }[]>('select app.record_events(?, ?) as written', [
    actor.tenantId,
    JSON.stringify([toEventRow(actor, event, { ip: ip ?? null })]),
  ]);
  return row?.written === 1;
}
