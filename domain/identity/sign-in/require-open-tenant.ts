import type { EntityManager } from '@mikro-orm/postgresql';
import { tenantDeleting } from '#domain/foundation/access/policy.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';

/** Sign-in needs an active tenant. @throws `tenant_suspended`, `tenant_deleting` */
export async function requireOpenTenant(em: EntityManager, tenantId: string): Promise<void> {
  const [row] = await em.execute<{ status: string }[]>('select status from tenants where tenant_id = ?', [
    tenantId,
  ]);
  if (row?.status === 'suspended') {
    throw new DomainError('tenant_suspended', 'This tenant is suspended.');
  }
  if (row?.status !== 'active') {
    throw tenantDeleting();
  }
}
