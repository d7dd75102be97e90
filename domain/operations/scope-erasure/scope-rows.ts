import type { EntityManager } from '@mikro-orm/postgresql';
import { quoted } from '#domain/operations/erasure/quoted.ts';
import type { KeyColumn } from '#domain/operations/erasure/erasure-step.ts';
import type { TenantTable } from '#domain/operations/erasure/read-catalogue.ts';
import type { Branch } from './plan-scope.ts';

/** The primary key of a row, the tenant first, as text. */
export type Key = readonly string[];

/** Rows that hang below some rows of another table. */
export interface Below {
  branch: Branch;
  above: TenantTable;
  keys: readonly Key[];
  size: number;
  /** Only rows that no row of the table refers to. */
  leaves: boolean;
}

/** The tenant is part of every key. A table without a primary key has the place of its rows, for one statement. */
const columnsOf = ({ key }: TenantTable): readonly KeyColumn[] => [
  { name: 'tenant_id', type: 'uuid' },
  ...key,
  ...(key[0]?.name === 'ctid' ? [{ name: 'tableoid', type: 'oid' }] : []),
];

/** The keys of the next rows below. */
export async function listBelow(em: EntityManager, below: Below): Promise<Key[]> {
  const texts = columnsOf(below.branch.table).map((_, n) => `page.k${n}::text`);
  const rows = await em.execute<{ key: string[] }[]>(
    `select to_jsonb(array[${texts.join(', ')}]) as key from (${pageOf(below)}) page`,
    [JSON.stringify(below.keys)],
  );
  return rows.map(({ key }) => key);
}

export const hasKey = ({ key }: TenantTable): boolean => key[0]?.name !== 'ctid';

/** Erases the next rows below, or sets to null what names the rows above. @returns how many */
export async function takeBelow(em: EntityManager, below: Below): Promise<number> {
  const { table, clears } = below.branch;
  return changed(em, { table, clears, page: pageOf(below) }, below.keys);
}

/** Erases rows by their keys, or sets columns of them to null. @returns how many there were */
export async function changeKeys(
  em: EntityManager,
  table: TenantTable,
  keys: readonly Key[],
  clears: readonly string[] | null,
): Promise<number> {
  return changed(em, { table, clears, page: keysOf(table) }, keys);
}

async function changed(
  em: EntityManager,
  { table, clears, page }: { table: TenantTable; clears: readonly string[] | null; page: string },
  keys: readonly Key[],
): Promise<number> {
  const name = quoted(table.name);
  const change =
    clears === null
      ? `delete from ${name} c using page where`
      : `update ${name} c set ${clears.map((column) => `${quoted(column)} = null`).join(', ')} from page where`;
  const [row] = await em.execute<{ rows: number }[]>(
    `with page as materialized (${page}), erased as (${change} ${isPage(table)} returning 1)
     select count(*)::int as rows from erased`,
    [JSON.stringify(keys)],
  );
  return row?.rows ?? 0;
}

const keysOf = (table: TenantTable): string => {
  const values = columnsOf(table).map(({ type }, n) => `cast(e ->> ${n} as ${type}) as k${n}`);
  return `select ${values.join(', ')} from jsonb_array_elements(?::jsonb) e`;
};

const isPage = (table: TenantTable, alias = 'c'): string =>
  columnsOf(table)
    .map(({ name }, n) => `${alias}.${quoted(name)} = page.k${n}`)
    .join(' and ');

/**
 * For each row above a look-up by the index of the foreign key: the others of the table are not looked at. The keys are
 * made before the join (`offset 0`): under row-level security a cast, which may reveal its argument, is no condition of
 * an index.
 */
function pageOf({ branch, above, size, leaves }: Below): string {
  const { table, pairs, only, selfReferences } = branch;
  const columns = columnsOf(table).map(({ name }) => `c.${quoted(name)}`);
  const named = pairs.map(([mine, theirs]) => `c.${quoted(mine)} = a.${quoted(theirs)}`);
  const free = leaves
    ? selfReferences.map((self) => `and not exists (${referring(table, self)})`).join(' ')
    : '';
  const order =
    selfReferences.length === 0 ? '' : `order by ${columns.map((column) => `${column} desc`).join(', ')}`;
  return `select c.* from (${keysOf(above)} offset 0) page
    join ${quoted(above.name)} a on ${isPage(above, 'a')}
    cross join lateral (
      select ${columns.map((column, n) => `${column} as k${n}`).join(', ')} from ${quoted(table.name)} c
      where c.tenant_id = a.tenant_id and ${[...named, ...only].join(' and ')} ${free} ${order} limit ${size}) c
    limit ${size}`;
}

function referring(table: TenantTable, pairs: Branch['pairs']): string {
  const same = pairs.map(([mine, theirs]) => `r.${quoted(mine)} = c.${quoted(theirs)}`);
  return `select from ${quoted(table.name)} r where ${same.join(' and ')}`;
}
