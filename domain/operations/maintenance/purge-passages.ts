import type { EntityManager } from '@mikro-orm/postgresql';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { listedSweep } from '#domain/operations/sweep-kinds/listed-sweep.ts';

/** Max passages of one transaction. */
const batchSize = 1_000;

/** Deletes passages of extractions that were replaced or that failed; never those of an extraction that is running. */
export const purgePassages = listedSweep<{ tenant_id: string; document_id: string }>({
  listFunction: 'list_stale_chunks',
  start: [nilUuid, nilUuid],
  placeOf: (row) => [row.tenant_id, row.document_id],
  processRow: async ({ purge }, { tenant_id: tenantId, document_id: documentId }, _known, mayGoOn) => {
    let removed: number;
    let changed = false;
    do {
      removed = await purge.inTenant(tenantId, (em) => removeStale(em, tenantId, documentId));
      changed ||= removed > 0;
    } while (removed === batchSize && mayGoOn());
    return changed;
  },
});

async function removeStale(em: EntityManager, tenantId: string, documentId: string): Promise<number> {
  // A reading may have replaced passages since the document was listed: searches that know those are still running.
  // The same interval as in app.list_stale_chunks.
  const [document] = await em.execute<{ stale: boolean | null }[]>(
    `select stale_since < now() - interval '30 seconds' as stale from documents
     where tenant_id = ? and id = ? for update`,
    [tenantId, documentId],
  );
  if (document?.stale !== true) {
    return 0;
  }
  const [row] = await em.execute<{ removed: number }[]>(
    `with gone as (
       delete from chunks where ctid = any (array(
         select c.ctid from chunks c join documents d on d.tenant_id = c.tenant_id and d.id = c.document_id
         where c.tenant_id = ? and c.document_id = ?
           and (c.generation < d.generation or c.generation > d.generation and d.status <> 'processing')
         limit ${batchSize})) returning 1)
     select count(*)::int as removed from gone`,
    [tenantId, documentId],
  );
  const removed = row?.removed ?? 0;
  if (removed < batchSize) {
    await em.execute('update documents set stale_since = null where tenant_id = ? and id = ?', [
      tenantId,
      documentId,
    ]);
  }
  return removed;
}
