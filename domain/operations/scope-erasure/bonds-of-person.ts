import type { ForeignKey } from '#domain/operations/erasure/read-catalogue.ts';
import type { Belonging, Bond } from './bond.ts';

/** Answers to requests of the person, without a foreign key. */
export const personBelonging: readonly Belonging[] = [['idempotency_keys', 'principal_id', 'principals']];

/** Column of a table that a person owns, though it is part of a place: a connector reads for its collection. */
const ofPlaces = new Set(['connectors.principal_id']);

/** Of what is the person's own, the halt has hidden what nobody else had a part in; see `hideOwn`. */
const hidden = new Map([
  ['threads.created_by', `c.status = 'deleted'`],
  ['responses.principal_id', 'c.deleted_at is not null'],
]);

/** The answer of another person goes on reading what it was given, also after the item was looked at. */
const unread = `not exists (select from response_context x join responses r
  on r.tenant_id = x.tenant_id and r.id = x.response_id and r.deleted_at is null
  where x.tenant_id = c.tenant_id and x.item_id = c.id)`;
const unreadable = `not exists (select from responses r
  where r.tenant_id = c.tenant_id and r.id = c.response_id and r.deleted_at is null)`;

/**
 * What a reference says when a person is erased. A column such as `created_by` names what the person has done to
 * something of others: it stays, with the id. Any other column that names a principal says whose the row is. Below
 * those rows a use is cleared, unlike below a space: a person's erasure waits for nobody.
 */
export function bondOfPerson({ child, parent, pairs, nullable, onDelete }: ForeignKey): Bond {
  if (parent === 'principals') {
    const column = pairs.map(([mine]) => mine).find((mine) => mine !== 'tenant_id') ?? '';
    const name = `${child}.${column}`;
    const condition = hidden.get(name);
    if (condition !== undefined) return { kind: 'part', only: [condition] };
    return { kind: column.endsWith('_by') || ofPlaces.has(name) ? 'none' : 'part' };
  }
  if (onDelete === 'set null' || (onDelete === 'refuse' && nullable.length > 0)) return { kind: 'use' };
  if (child === 'items') return { kind: 'part', only: [unread] };
  return parent === 'items' ? { kind: 'part', only: [unreadable] } : { kind: 'part' };
}
