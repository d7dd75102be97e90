import type { EntityManager } from '@mikro-orm/postgresql';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';

/** Rows of each table that PostgreSQL read, whether or not they met all conditions. */
export type RowsRead = Record<string, number>;

/** Counts the rows that its transactions read. */
export class CountingUnitOfWork extends UnitOfWork {
  #read: RowsRead = {};

  override async inTenant<T>(tenantId: string, work: (em: EntityManager) => Promise<T>): Promise<T> {
    return super.inTenant(tenantId, async (em) => {
      const before = await rowsRead(em);
      const result = await work(em);
      for (const [table, rows] of Object.entries(await rowsRead(em))) {
        this.#read[table] = (this.#read[table] ?? 0) + rows - (before[table] ?? 0);
      }
      return result;
    });
  }

  /** Since the last call. */
  take(): RowsRead {
    const read = this.#read;
    this.#read = {};
    return read;
  }
}

/** Of this connection, since it last reported to PostgreSQL's statistics. */
async function rowsRead(em: EntityManager): Promise<RowsRead> {
  const rows = await em.execute<{ table: string; rows: number }[]>(
    `select relname as table, (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int4 as rows
     from pg_stat_xact_user_tables where seq_tup_read > 0 or idx_tup_fetch > 0`,
  );
  return Object.fromEntries(rows.map(({ table, rows }) => [table, rows]));
}
