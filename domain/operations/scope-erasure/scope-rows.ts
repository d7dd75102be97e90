import type { EntityManager } from '@mikro-orm/postgresql';
import { quoted } from '#domain/operations/erasure/quoted.ts';
import type { KeyColumn } from '#domain/operations/erasure/erasure-step.ts';
import type { TenantTable } from '#domain/operations/erasure/read-catalogue.ts';
import type { Branch } from './plan-scope.ts';

/** The primary key of a row, the tenant first, as text. Of a row whose reference is cleared also what it names. */
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

/** What a row below names, as columns of a page. */
const namesOf = ({ pairs, clears }: Branch): readonly string[] =>
  clears === null ? [] : pairs.map(([mine]) => mine);

/** The keys of the next rows below. */
export async function listBelow(em: EntityManager, below: Below): Promise<Key[]> {
  const keys = columnsOf(below.branch.table).map((_, n) => `page.k${n}::text`);
  const texts = [...keys, ...namesOf(below.branch).map((_, n) => `page.n${n}::text`)];
  const rows = await em.execute<{ key: string[] }[]>(
    `select to_jsonb(array[${texts.join(', ')}]) as key from (${pageOf(below)}) page`,
    [JSON.stringify(below.keys)],
  );
  return rows.map(({ key }) => key);
}

export const hasKey = ({ key }: TenantTable): boolean => key[0]?.name !== 'ctid';

/** Erases the next rows below, or sets to null what names the rows above. @returns how many */
export async function takeBelow(em: EntityManager, below: Below): Promise<number> {
  const { table } = below.branch;
  return changed(em, { change: changeOf(below.branch), table, page: pageOf(below) }, below.keys);
}

/** Erases rows by their keys. @returns how many there were */
export async function eraseKeys(
  em: EntityManager,
  table: TenantTable,
  keys: readonly Key[],
): Promise<number> {
  return changed(em, { change: erasing(table), table, page: keysOf(table) }, keys);
}

/** Sets to null what rows of a branch name, by their keys. @returns how many still named it */
export async function clearKeys(em: EntityManager, branch: Branch, keys: readonly Key[]): Promise<number> {
  const { table } = branch;
  const first = columnsOf(table).length;
  const names = namesOf(branch).map((_, n) => `, e ->> ${first + n} as n${n}`);
  return changed(em, { change: changeOf(branch), table, page: keysOf(table, names.join('')) }, keys);
}

const erasing = ({ name }: TenantTable): string => `delete from ${quoted(name)} c using page where`;

/** Somebody else may have let a row name another one since it was listed: that reference stays. */
function changeOf(branch: Branch): string {
  const { table, clears } = branch;
  if (clears === null) return erasing(table);
  const cleared = clears.map((column) => `${quoted(column)} = null`).join(', ');
  const names = namesOf(branch).map((column, n) => `c.${quoted(column)}::text = page.n${n}::text`);
  return `update ${quoted(table.name)} c set ${cleared} from page where ${names.join(' and ')} and`;
}

async function changed(
  em: EntityManager,
  { change, table, page }: { change: string; table: TenantTable; page: string },
  keys: readonly Key[],
): Promise<number> {
  const [row] = await em.execute<{ rows: number }[]>(
    `with page as materialized (${page}), erased as (${change} ${isPage(table)} returning 1)
     select count(*)::int as rows from erased`,
    [JSON.stringify(keys)],
  );
  return row?.rows ?? 0;
}

const keysOf = (table: TenantTable, more = ''): string => {
  const values = columnsOf(table).map(({ type }, n) => `cast(e ->> ${n} as ${type}) as k${n}`);
  return `select ${values.join(', ')}${more} from jsonb_array_elements(?::jsonb) e`;
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
  const found = [
    ...columns.map((column, n) => `${column} as k${n}`),
    ...namesOf(branch).map((column, n) => `c.${quoted(column)} as n${n}`),
  ];
  const named = pairs.map(([mine, theirs]) => `c.${quoted(mine)} = a.${quoted(theirs)}`);
  const free = leaves
    ? selfReferences.map((self) => `and not exists (${referring(table, self)})`).join(' ')
    : '';
  const order =
    selfReferences.length === 0 ? '' : `order by ${columns.map((column) => `${column} desc`).join(', ')}`;
  return `select c.* from (${keysOf(above)} offset 0) page
    join ${quoted(above.name)} a on ${isPage(above, 'a')}
    cross join lateral (
      select ${found.join(', ')} from ${quoted(table.name)} c
      where c.tenant_id = a.tenant_id and ${[...named, ...only].join(' and ')} ${free} ${order} limit ${size}) c
    limit ${size}`;
}

function referring(table: TenantTable, pairs: Branch['pairs']): string {
  const same = pairs.map(([mine, theirs]) => `r.${quoted(mine)} = c.${quoted(theirs)}`);
  return `select from ${quoted(table.name)} r where ${same.join(' and ')}`;
}
