import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { RowFailures } from '#domain/foundation/persistence/row-failures.ts';
import type { Round } from './round.ts';
import type { Sweep, SweepDependencies } from './sweep.ts';

/** Max rows of a page, and so of a transaction. */
const pageSize = 5_000;
const beginning = '-infinity';

/** Rows that are deleted when their retention is over. The column has an index, and `app_system` may read it. */
export interface AgedRows {
  table: string;
  column: 'created_at' | 'expires_at' | 'ended_at' | 'revoked_at';
  /** Counted from the time in the column, as an interval. */
  retention: string;
  /** An additional SQL condition on a row `r`. */
  onlyIf?: string;
}

interface RowRange {
  tenant_id: string;
  low: string;
  high: string;
}

/**
 * Deletes rows of all tenants in the order of their age, page by page, each tenant's part of a page in its own
 * transaction. The next page begins where the last one ended, so that deleted index entries are not read again.
 */
export function agedSweep(kinds: readonly AgedRows[]): Sweep {
  return {
    async isDue(deps) {
      for (const kind of kinds) {
        if ((await list(deps, kind, beginning, 1)).length > 0) {
          return true;
        }
      }
      return false;
    },
    async run(deps, round) {
      const [begun, low = beginning] = round.place ?? [];
      const left = kinds.slice(
        Math.max(
          kinds.findIndex((kind) => nameOf(kind) === begun),
          0,
        ),
      );
      let total = { done: 0, failed: 0 };
      for (const kind of left) {
        const from = nameOf(kind) === begun ? low : beginning;
        const { done, failed, next } = await sweepKind(deps, round, kind, from);
        total = { done: total.done + done, failed: total.failed + failed };
        if (next !== null) {
          return { ...total, next };
        }
      }
      return { ...total, next: null };
    },
  };
}

/** Of rows in a place of a round. */
const nameOf = ({ table, column }: AgedRows): string => `${table}.${column}`;

async function sweepKind(deps: SweepDependencies, round: Round, kind: AgedRows, from: string) {
  const failures = new RowFailures();
  let done = 0;
  for (let low = from; ;) {
    const ranges = await list(deps, kind, low, pageSize);
    let removed = 0;
    for (const range of ranges) {
      // A page may hold a row of each of thousands of tenants. The next round lists the remaining rows again.
      if (removed > 0 && !round.mayGoOn()) {
        return { done: done + removed, failed: failures.count, next: [nameOf(kind), low] };
      }
      await failures.collect(async () => {
        removed += await remove(deps.purge, kind, range);
      });
    }
    done += removed;
    const last = ranges.at(-1);
    if (last === undefined) {
      return { done, failed: failures.count, next: null };
    }
    // Rows of the last timestamp may remain, so the next page starts at it; or behind it if no row could be deleted,
    // so that failing rows do not block the others.
    low = removed > 0 ? last.high : await nextMicrosecond(deps, last.high);
    const next = [nameOf(kind), low];
    round.reached(next);
    if (!round.mayGoOn()) {
      return { done, failed: failures.count, next };
    }
  }
}

/** The oldest rows from `low` on, as one time range per tenant, ordered by the ends of the ranges. */
function list(
  { database }: SweepDependencies,
  { table, column, retention }: AgedRows,
  low: string,
  limit: number,
): Promise<RowRange[]> {
  return database.call<RowRange>(
    'list_aged_rows',
    `select tenant_id, low::text, high::text
     from app.list_aged_rows($1, $2, $3::interval, $4::timestamptz, $5) a order by a.high`,
    [table, column, retention, low, limit],
  );
}

async function nextMicrosecond({ database }: SweepDependencies, time: string): Promise<string> {
  const [row] = await database.call<{ at: string }>(
    'just_behind',
    `select ($1::timestamptz + interval '1 microsecond')::text as at`,
    [time],
  );
  return row?.at ?? time;
}

function remove(purge: UnitOfWork, { table, column, onlyIf }: AgedRows, range: RowRange): Promise<number> {
  return purge.inTenant(range.tenant_id, async (em) => {
    const [row] = await em.execute<{ removed: number }[]>(
      `with gone as (
         delete from ${table} where ctid = any (array(
           select r.ctid from ${table} r where r.tenant_id = ? and r.${column} between ? and ?
             ${onlyIf === undefined ? '' : `and ${onlyIf}`} limit ${pageSize})) returning 1)
       select count(*)::int as removed from gone`,
      [range.tenant_id, range.low, range.high],
    );
    return row?.removed ?? 0;
  });
}
