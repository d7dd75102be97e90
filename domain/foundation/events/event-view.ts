import type { Context } from '#domain/foundation/access/context.ts';
import { openField, openFields, type SealedField } from '#domain/foundation/secrets/open-fields.ts';
import type { EventCategory, ResourceType } from './catalogue.ts';

/** An event as the database returns it. */
export interface StoredEvent {
  id: string;
  tenant_id: string;
  category: EventCategory;
  event_type: string;
  actor_id: string | null;
  actor_name: string | null;
  actor_email: string | null;
  resource_type: ResourceType;
  resource_id: string;
  metadata: Record<string, unknown>;
  created_at: string;
}

export interface EventView {
  id: string;
  tenantId: string;
  category: EventCategory;
  eventType: string;
  actorId: string | null;
  /** The actor's name at that time; null also when the actor was erased since. */
  actorName: string | null;
  /** Null also for callers without `principals.read`. */
  actorEmail: string | null;
  resourceType: ResourceType;
  resourceId: string;
  metadata: Record<string, unknown>;
  createdAt: Date;
}

/**
 * Events with their personal data decrypted: the actor's name for every reader, e-mail and address for readers of
 * principals.
 */
export async function viewEvents(ctx: Context, rows: readonly StoredEvent[]): Promise<EventView[]> {
  const isFull = ctx.caller.granted.has('principals.read');
  const opened = await open(
    ctx,
    rows.flatMap((row) => [
      sealed(row, 'name', row.actor_name),
      sealed(row, 'email', isFull ? row.actor_email : null),
      sealed(row, 'ip', isFull ? row.metadata['ip'] : null),
    ]),
  );
  return rows.map((row, i) => {
    const [actorName = null, actorEmail = null, address = null] = opened.slice(i * 3, i * 3 + 3);
    const { ip: _sealed, ...metadata } = row.metadata;
    return {
      id: row.id,
      tenantId: row.tenant_id,
      category: row.category,
      eventType: row.event_type,
      actorId: row.actor_id,
      actorName,
      actorEmail,
      resourceType: row.resource_type,
      resourceId: row.resource_id,
      metadata: address === null ? metadata : { ...metadata, ip: address },
      createdAt: new Date(row.created_at),
    };
  });
}

function sealed(row: StoredEvent, column: 'name' | 'email' | 'ip', text: unknown): SealedField | null {
  return typeof text !== 'string' || row.actor_id === null
    ? null
    : { place: { tenantId: row.tenant_id, table: 'principals', column, row: row.actor_id }, sealed: text };
}

/** In the order of `fields`. A field that was tampered with is null; detecting that is left to verification. */
async function open(ctx: Context, fields: readonly (SealedField | null)[]): Promise<(string | null)[]> {
  const present = fields.filter((field) => field !== null);
  if (present.length === 0) {
    return fields.map(() => null);
  }
  // A page has few actors, and each of them the same few texts, so equal fields are decrypted once.
  const different = [...new Map(present.map((field) => [keyOf(field), field])).values()];
  const texts = await openFields(ctx, different).catch(() => openOneByOne(ctx, different));
  const known = new Map(different.map((field, i) => [keyOf(field), texts[i] ?? null]));
  return fields.map((field) => (field === null ? null : (known.get(keyOf(field)) ?? null)));
}

const keyOf = ({ place, sealed: text }: SealedField): string => `${place.row} ${place.column} ${text}`;

async function openOneByOne(ctx: Context, fields: readonly SealedField[]): Promise<(string | null)[]> {
  const texts: (string | null)[] = [];
  for (const field of fields) {
    texts.push(await openField(ctx, field.place, field.sealed).catch(() => null));
  }
  return texts;
}
