import { RowFailures } from '#domain/foundation/persistence/row-failures.ts';
import type { Sweep, SweepDependencies } from './sweep.ts';

const pageSize = 200;

/** The rows of all tenants that a sweep processes, as an SQL function lists them. */
export interface Listing<Row extends object, Known = null> {
  /** Takes a place in its order, of two values, and the max number of rows. */
  listFunction: string;
  /** The place before the first row. */
  start: readonly [string, string];
  placeOf: (row: Row) => readonly [string, string];
  /** Looks up what the rows of a whole page need. */
  prepare?: (deps: SweepDependencies, rows: readonly Row[]) => Promise<Known>;
  /**
   * Processes one row in its own transactions. @returns whether that changed anything
   * @param mayGoOn to be asked between two batches of a row: when the round's time is up, the row is left as it is. It
   *   stays listed and has its next turn after the rows of others.
   */
  processRow: (deps: SweepDependencies, row: Row, known: Known, mayGoOn: () => boolean) => Promise<boolean>;
}

/**
 * Processes every listed row, page by page. A row that fails does not block the others: it is counted, and a later
 * round retries it. A round processes at least one row, however short its time.
 */
export function listedSweep<Row extends object, Known = null>(listing: Listing<Row, Known>): Sweep {
  const { listFunction, start, placeOf, prepare, processRow } = listing;
  const list = ({ database }: SweepDependencies, after: readonly string[], limit: number) =>
    database.call<Row>(listFunction, `select * from app.${listFunction}($1, $2, $3)`, [...after, limit]);
  return {
    isDue: async (deps) => (await list(deps, start, 1)).length > 0,
    async run(deps, round) {
      const failures = new RowFailures();
      let place = round.place ?? start;
      let done = 0;
      for (;;) {
        const rows = await list(deps, place, pageSize);
        const known = ((await prepare?.(deps, rows)) ?? null) as Known;
        for (const row of rows) {
          await failures.collect(async () => {
            done += (await processRow(deps, row, known, () => round.mayGoOn())) ? 1 : 0;
          });
          place = placeOf(row);
          round.reached(place);
          if (!round.mayGoOn()) {
            return { done, failed: failures.count, next: place };
          }
        }
        if (rows.length < pageSize) {
          return { done, failed: failures.count, next: null };
        }
      }
    },
  };
}
