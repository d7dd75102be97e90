import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { lockPurge } from './purge-lock.ts';
import { RowFailures } from '#domain/foundation/persistence/row-failures.ts';
import type { Sweep, SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';

/** Items per page, orphans or not. */
const pageSize = 5_000;

/** The part of a page that belongs to one tenant. */
interface RowRange {
  tenant_id: string;
  first_id: string;
  last_id: string;
  orphans: number;
}

/**
 * Deletes items that no response refers to: their own response is deleted, and they are in no other response's
 * context. The sweep walks all items in the order of their key, page by page, each tenant's orphans of a page in its
 * own transaction.
 */
export const purgeOrphans: Sweep = {
  async run(deps, round) {
    const failures = new RowFailures();
    let place = round.place ?? [nilUuid, ''];
    let done = 0;
    for (;;) {
      const ranges = await list(deps, place);
      for (const range of ranges.filter(({ orphans }) => orphans > 0)) {
        await failures.collect(async () => {
          done += await remove(deps.purge, range);
        });
      }
      const last = ranges.at(-1);
      if (last === undefined) {
        return { done, failed: failures.count, next: null };
      }
      place = [last.tenant_id, last.last_id];
      round.reached(place);
      if (!round.mayGoOn()) {
        return { done, failed: failures.count, next: place };
      }
    }
  },
};

function list({ database }: SweepDependencies, after: readonly string[]): Promise<RowRange[]> {
  return database.call<RowRange>('list_orphans', 'select * from app.list_orphans($1, $2, $3)', [
    ...after,
    pageSize,
  ]);
}

function remove(purge: UnitOfWork, { tenant_id: tenantId, first_id, last_id }: RowRange): Promise<number> {
  return purge.inTenant(tenantId, async (em) => {
    await lockPurge(em, tenantId);
    const [row] = await em.execute<{ removed: number }[]>(
      `with gone as (
         delete from items i where i.tenant_id = ? and i.id between ? and ?
           and not exists (select from responses r where r.tenant_id = i.tenant_id and r.id = i.response_id)
           and not exists (select from response_context c where c.tenant_id = i.tenant_id and c.item_id = i.id)
         returning 1)
       select count(*)::int as removed from gone`,
      [tenantId, first_id, last_id],
    );
    return row?.removed ?? 0;
  });
}
