import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '#domain/kernel/errors.ts';

/**
 * A tenant that nobody owns could never be deleted or given back its rights: the last active owner stays. Locks
 * the owners, so that two of them cannot be taken away at once; asked before a principal is locked, always, so that
 * two who take each other away wait for one another in one order.
 * @throws `invalid_state` when `principalId` is the last one
 */
export async function requireAnotherOwner(em: EntityManager, principalId: string): Promise<void> {
  await em.execute(
    `select principal_id from role_assignments where role_key = 'owner' order by 1 for update`,
  );
  // By a statement of its own: one that waits for the locks still sees as active whom the other has just disabled.
  const owners = await em.execute<{ is_asked: boolean }[]>(
    `select a.principal_id = ?::uuid as is_asked from role_assignments a
     join principals p on p.tenant_id = a.tenant_id and p.id = a.principal_id
     where a.role_key = 'owner' and p.status = 'active' limit 2`,
    [principalId],
  );
  if (owners.length === 1 && owners[0]?.is_asked === true) {
    throw new DomainError('invalid_state', 'The last owner of a tenant stays.');
  }
}
