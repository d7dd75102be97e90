import { orderTables } from '#domain/operations/erasure/order-tables.ts';
import type { Catalogue, ForeignKey, TenantTable } from '#domain/operations/erasure/read-catalogue.ts';
import { bondOfPerson, personBelonging } from './bonds-of-person.ts';
import { belongingOf, type Belonging, type Bond } from './bond.ts';

/** A table whose rows belong to rows of another one, or name them. */
export interface Branch {
  table: TenantTable;
  /** Pairs of a column of the table and the column of the table above that it names. */
  pairs: ForeignKey['pairs'];
  /** Columns that are set to null: the rows stay. Null: the rows are erased. */
  clears: readonly string[] | null;
  /** SQL conditions on the rows `c`; others stay as they are. */
  only: readonly string[];
  /** Foreign keys among rows of the table, in pairs like the above. With one, the last row goes first. */
  selfReferences: readonly ForeignKey['pairs'][];
}

export interface ScopePlan {
  root: TenantTable;
  /** What hangs below the rows of a table, in the order in which it is erased. */
  below(table: string): readonly Branch[];
}

/** References without a foreign key, whose rows are nothing without what they name. See ADR 91 for those that stay. */
const belonging: readonly Belonging[] = [
  ['items', 'response_id', 'responses'],
  ['stream_runs', 'response_id', 'responses'],
  ['response_ids', 'id', 'responses'],
];

/**
 * What belongs to a row of the root's table, by the foreign keys of the catalogue. A foreign key that PostgreSQL would
 * set to null says that its row lives on, and so does a nullable one, unless it names the root itself: what uses
 * a credential is no part of it. Every other one says that its row is a part of what it names. What belongs to a person
 * has rules of its own.
 */
export function planScope(catalogue: Catalogue, rootTable: string): ScopePlan {
  const tables = new Map(catalogue.tables.map((table) => [table.name, table]));
  const root = tableOf(tables, rootTable);
  const isPerson = rootTable === 'principals';
  const named = isPerson ? [...belonging, ...personBelonging] : belonging;
  const foreignKeys = [...catalogue.foreignKeys, ...named.map(belongingOf)];
  const { tables: order, selfReferring } = orderTables({ tables: catalogue.tables, foreignKeys });
  const place = new Map(order.map((table, n) => [table, n]));
  const branches = new Map<string, Branch[]>();
  for (const foreignKey of foreignKeys) {
    const { child, parent, pairs, nullable } = foreignKey;
    if (child === parent || child === rootTable) continue;
    const bond = isPerson ? bondOfPerson(foreignKey) : bondOf(foreignKey, rootTable);
    if (bond.kind === 'none') continue;
    const clears = bond.kind === 'use' ? nullable : null;
    const selfReferences = selfReferring.filter((self) => self.child === child).map((self) => self.pairs);
    const { only = [] } = bond;
    const branch = { table: tableOf(tables, child), pairs, clears, only, selfReferences };
    branches.set(parent, [...(branches.get(parent) ?? []), branch]);
  }
  for (const below of branches.values()) {
    below.sort((a, b) => (place.get(a.table.name) ?? 0) - (place.get(b.table.name) ?? 0));
  }
  return { root, below: (table) => branches.get(table) ?? [] };
}

function bondOf({ parent, nullable, onDelete }: ForeignKey, rootTable: string): Bond {
  if (onDelete === 'set null') return { kind: 'use' };
  return { kind: onDelete === 'refuse' && nullable.length > 0 && parent !== rootTable ? 'none' : 'part' };
}

function tableOf(tables: ReadonlyMap<string, TenantTable>, name: string): TenantTable {
  const table = tables.get(name);
  if (table === undefined) throw new Error(`The catalogue has no table ${name} of tenants.`);
  return table;
}
