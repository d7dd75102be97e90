import { PostgresByteStore } from '#domain/foundation/bytes/postgres-byte-store.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { listedSweep } from '#domain/operations/sweep-kinds/listed-sweep.ts';

/** Deletes stored bytes that no document refers to: the last document was deleted, or the upload was never finished. */
export const purgeContent = listedSweep<{ tenant_id: string; key: string }>({
  listFunction: 'list_released_objects',
  start: [nilUuid, ''],
  placeOf: (row) => [row.tenant_id, row.key],
  processRow: ({ purge }, { tenant_id: tenantId, key }) =>
    purge.inTenant(tenantId, async (em) => {
      const held = await em.execute(
        'select 1 from stored_objects where tenant_id = ? and key = ? and purge_after < now() for update',
        [tenantId, key],
      );
      if (held.length === 0) {
        return false;
      }
      // Read under the lock: a concurrent upload of the same bytes has inserted its document by now.
      const used = await em.execute(
        'select 1 from documents where tenant_id = ? and content_key = ? limit 1',
        [tenantId, key],
      );
      if (used.length === 0) {
        await PostgresByteStore.within(tenantId, em).delete(key);
      } else {
        await em.execute('update stored_objects set purge_after = null where tenant_id = ? and key = ?', [
          tenantId,
          key,
        ]);
      }
      return used.length === 0;
    }),
});
