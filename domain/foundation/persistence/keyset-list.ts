import { raw, type EntityClass, type FilterQuery } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { decodeCursor, encodeCursor, type Page } from '#domain/foundation/kernel/page.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { fitting } from './page-bytes.ts';

/** The tenant whose rows are listed, and the transaction. A `Context` is one. */
interface Listing {
  caller: { tenantId: string };
  em: EntityManager;
  secrets: Secrets;
}

/** Any entity that lists newest first. */
interface Listed {
  id: string;
  createdAt: Date;
}

export interface KeysetQuery<Entity extends Listed> {
  entity: EntityClass<Entity>;
  where: FilterQuery<Entity>;
  /** Rows of one page, at least 1. */
  limit: number;
  cursor: string | null;
  /** Names the list in its cursors: a cursor of another list, filter or tenant is refused. */
  operation: string;
  filters: Record<string, unknown>;
  /** Columns that no row of the page needs. */
  exclude?: readonly (keyof Entity & string)[];
  /**
   * SQL that returns `id` and `bytes`, the size of each row on the page, for the ids of its one parameter, a JSON
   * array.
   */
  bytes?: string;
}

/**
 * One page of the caller's tenant, newest first, ids breaking ties. Positions keep PostgreSQL's microseconds, which a
 * `Date` would truncate: rows of one millisecond would be lost or repeated between pages. A page of large rows ends
 * early.
 * @throws `invalid_cursor`
 */
export async function keysetPage<Entity extends Listed>(
  ctx: Listing,
  query: KeysetQuery<Entity>,
): Promise<Page<Entity>> {
  const scope = { tenantId: ctx.caller.tenantId, operation: query.operation, filters: query.filters };
  const after = query.cursor === null ? null : decodeCursor(ctx.secrets, scope, query.cursor);
  const older =
    after === null
      ? []
      : [
          {
            [raw(
              (alias) => `(${alias}.created_at, ${alias}.id) < (?::timestamptz, ?)`,
              [after.createdAt, after.id],
            )]: [],
          },
        ];
  const rows = (await ctx.em.find<Listed>(
    query.entity,
    { $and: [query.where, ...older] },
    {
      orderBy: { createdAt: 'desc', id: 'desc' },
      limit: query.limit + 1,
      exclude: (query.exclude ?? []) as never[],
    },
  )) as Entity[];
  const items = await fitted(ctx, query, rows.slice(0, query.limit));
  const last = items.at(-1);
  if (last === undefined || rows.length === items.length) {
    return { items, nextCursor: null };
  }
  const createdAt = await preciseCreation(ctx, query.entity, last.id);
  return { items, nextCursor: encodeCursor(ctx.secrets, scope, { createdAt, id: last.id }) };
}

async function fitted<Entity extends Listed>(
  ctx: Listing,
  { bytes }: Pick<KeysetQuery<Entity>, 'bytes'>,
  rows: readonly Entity[],
): Promise<Entity[]> {
  if (bytes === undefined || rows.length < 2) {
    return [...rows];
  }
  const ids = JSON.stringify(rows.map(({ id }) => id));
  const sizes = await ctx.em.execute<{ id: string; bytes: number }[]>(bytes, [ids]);
  const byId = new Map(sizes.map((each) => [each.id, each.bytes]));
  return fitting(rows.map((row) => ({ row, bytes: byId.get(row.id) ?? 0 }))).map(({ row }) => row);
}

async function preciseCreation<Entity extends Listed>(
  ctx: Listing,
  entity: EntityClass<Entity>,
  id: string,
): Promise<string> {
  const table = ctx.em.getMetadata().get(entity).tableName;
  const [row] = await ctx.em.execute<{ at: string }[]>(
    `select to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
     from "${table}" where tenant_id = ? and id = ?`,
    [ctx.caller.tenantId, id],
  );
  if (row === undefined) {
    throw new Error(`The last row of a page of ${table} is gone.`);
  }
  return row.at;
}
