import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { listedSweep } from '#domain/operations/sweep-kinds/listed-sweep.ts';

/**
 * Gives each large collection the document frequencies that its next upload would: they are missing where a version
 * without statistics stored its passages. One collection a transaction, which reads a sample of its passages.
 */
export const measureCollections = listedSweep<{ tenant_id: string; collection_id: string }>({
  listFunction: 'list_unmeasured_collections',
  start: [nilUuid, nilUuid],
  placeOf: (row) => [row.tenant_id, row.collection_id],
  processRow: ({ unitOfWork }, { tenant_id: tenantId, collection_id: collectionId }) =>
    unitOfWork.inTenant(tenantId, async (em) => {
      // The trigger of the column measures, also where an upload did meanwhile or the collection has shrunk: never twice.
      await em.execute('update collections set chunk_count = chunk_count where tenant_id = ? and id = ?', [
        tenantId,
        collectionId,
      ]);
      return true;
    }),
});
