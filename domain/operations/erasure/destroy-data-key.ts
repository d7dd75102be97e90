import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * Deletes the keys that everything sealed of a tenant is sealed under, its principals' included: from the commit on no
 * copy of the rows can be read, backups included. In a transaction of the purge role, of this tenant. It waits
 * for transactions that are making a key, which refer to the tenant; later ones are refused by the tenant's status.
 */
export async function destroyDataKey(em: EntityManager, tenantId: string): Promise<{ keyIds: string[] }> {
  await em.execute('select from tenants where tenant_id = ? for update', [tenantId]);
  const rows = await em.execute<{ id: string }[]>('delete from data_keys where tenant_id = ? returning id', [
    tenantId,
  ]);
  return { keyIds: rows.map(({ id }) => id).toSorted() };
}
