import type { Database } from '#domain/persistence/database.ts';
import { RowFailures } from './row-failures.ts';

const pageSize = 200;

/** The rows of all tenants that a round has to see to, as one of our functions lists them. */
export interface Listing<Row extends object> {
  /** Takes a place in its order, of two values, and how many rows it may give. */
  door: string;
  /** The place before the first row. */
  start: readonly [string, string];
  placeOf: (row: Row) => readonly [string, string];
}

/**
 * Sees to every listed row, page by page. A row that cannot be seen to does not keep the others waiting: it is
 * counted, and the next round comes back to it.
 */
export async function sweep<Row extends object>(
  database: Database,
  { door, start, placeOf }: Listing<Row>,
  see: (row: Row) => Promise<void>,
): Promise<{ seen: number; failed: number }> {
  const failures = new RowFailures();
  let seen = 0;
  for (let place = start; ;) {
    const rows = await database.call<Row>(door, `select * from app.${door}($1, $2, $3)`, [
      ...place,
      pageSize,
    ]);
    for (const row of rows) {
      await failures.collect(() => see(row));
    }
    seen += rows.length;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageSize) {
      return { seen, failed: failures.count };
    }
    place = placeOf(last);
  }
}
