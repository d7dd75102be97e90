import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { RowFailures } from '#domain/foundation/persistence/row-failures.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { reindexSlice } from '#domain/knowledge/ingestion/reindex-slice.ts';
import { listedSweep } from '#domain/operations/sweep-kinds/listed-sweep.ts';
import type { Sweep } from '#domain/operations/sweep-kinds/sweep.ts';

/** How long a tenant's changes go on before those of the next tenant. */
const turnMs = 1_000;

const start = [nilUuid, nilUuid] as const;

/** One turn of each tenant with changes of languages. */
const turns = listedSweep<{ tenant_id: string }>({
  listFunction: 'list_language_changes',
  start,
  placeOf: ({ tenant_id: tenantId }) => [tenantId, nilUuid],
  processRow: ({ unitOfWork }, { tenant_id: tenantId }) => takeTurn(unitOfWork, tenantId),
});

/**
 * Gives the passages of collections whose language has changed the words of the new one. Slices of all tenants follow
 * each other, so that changes of whatever size load the database like one session; tenants take turns until nothing is
 * left.
 */
export const reindexCollections: Sweep = {
  ...turns,
  async run(deps, round) {
    let { place } = round;
    const total = { done: 0, failed: 0 };
    for (;;) {
      const fromStart = place === null;
      const { done, failed, next } = await turns.run(deps, { ...round, place });
      total.done += done;
      total.failed += failed;
      if (next !== null || (done === 0 && fromStart)) {
        return { ...total, next };
      }
      place = null;
      if (!round.mayGoOn()) {
        return { ...total, next: start };
      }
    }
  },
};

/** The changes of a tenant go on from the earliest to the latest. @returns whether any passage was indexed */
async function takeTurn(unitOfWork: UnitOfWork, tenantId: string): Promise<boolean> {
  const end = performance.now() + turnMs;
  const failures = new RowFailures();
  let changed = false;
  for (const collectionId of await changedCollections(unitOfWork, tenantId)) {
    const slice = () => unitOfWork.inTenant(tenantId, (em) => reindexSlice(em, { tenantId, collectionId }));
    await failures.collect(async () => {
      while (performance.now() < end && (await slice())) {
        changed = true;
      }
    });
  }
  if (failures.count > 0) {
    throw new Error(`${failures.count} changes of a language failed.`);
  }
  return changed;
}

async function changedCollections(unitOfWork: UnitOfWork, tenantId: string): Promise<string[]> {
  const rows = await unitOfWork.inTenant(tenantId, (em) =>
    em.execute<{ collection_id: string }[]>(
      'select collection_id from language_changes where tenant_id = ? order by started_at, collection_id limit 100',
      [tenantId],
    ),
  );
  return rows.map(({ collection_id: id }) => id);
}
