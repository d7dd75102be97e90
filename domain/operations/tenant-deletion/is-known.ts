import type { EntityManager } from '@mikro-orm/postgresql';
import { Tenant } from '#domain/workspace/tenants/tenant.entity.ts';
import { newestDeletion } from './find-deletion.ts';

/** Whether the transaction's tenant exists, or existed and was deleted: its deletion can still be read. */
export async function isKnown(em: EntityManager): Promise<boolean> {
  const [row] = await em.execute<{ id: string }[]>(
    `select nullif(current_setting('app.tenant_id', true), '')::uuid as id`,
  );
  return (
    (row !== undefined && (await em.count(Tenant, { id: row.id }, { filters: false })) > 0) ||
    (await newestDeletion(em)) !== null
  );
}
