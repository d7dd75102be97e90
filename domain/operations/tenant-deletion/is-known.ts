import type { EntityManager } from '@mikro-orm/postgresql';
import { tenantExists } from '#domain/workspace/tenants/tenant-exists.ts';
import { newestDeletion } from './find-deletion.ts';

/** Whether the transaction's tenant exists, or existed and was deleted: its deletion can still be read. */
export async function isKnown(em: EntityManager, tenantId: string): Promise<boolean> {
  return (await tenantExists(em, tenantId)) || (await newestDeletion(em)) !== null;
}
