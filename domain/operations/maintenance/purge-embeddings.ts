import type { EntityManager } from '@mikro-orm/postgresql';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { listedSweep } from '#domain/operations/sweep-kinds/listed-sweep.ts';

/** Max vectors of one transaction. */
const batchSize = 2_000;

/** Deletes the vectors of generations that searches no longer use, and then the generation. */
export const purgeEmbeddings = listedSweep<{ tenant_id: string; embedding_id: string }>({
  listFunction: 'list_ended_generations',
  start: [nilUuid, nilUuid],
  placeOf: (row) => [row.tenant_id, row.embedding_id],
  processRow: async ({ purge }, { tenant_id: tenantId, embedding_id: embeddingId }, _known, mayGoOn) => {
    for (const table of ['chunk_vectors', 'chunk_embeddings'] as const) {
      while (
        (await purge.inTenant(tenantId, (em) => remove(em, table, tenantId, embeddingId))) === batchSize
      ) {
        if (!mayGoOn()) {
          return true;
        }
      }
    }
    await purge.inTenant(tenantId, (em) =>
      em.execute('delete from embedding_generations where tenant_id = ? and id = ?', [tenantId, embeddingId]),
    );
    return true;
  },
});

async function remove(
  em: EntityManager,
  table: 'chunk_vectors' | 'chunk_embeddings',
  tenantId: string,
  embeddingId: string,
): Promise<number> {
  const [row] = await em.execute<{ removed: number }[]>(
    `with gone as (
       delete from ${table} where ctid = any (array(
         select ctid from ${table} where tenant_id = ? and embedding_id = ? limit ${batchSize})) returning 1)
     select count(*)::int4 as removed from gone`,
    [tenantId, embeddingId],
  );
  return row?.removed ?? 0;
}
