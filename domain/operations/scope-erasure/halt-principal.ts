import type { EntityManager } from '@mikro-orm/postgresql';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { cancelWork, countWork, resolveCalls, withdrawConnections, type WorkOf } from './halt-work.ts';
import { hideOwn, type PrincipalRef } from './hide-own.ts';

interface Roles {
  unitOfWork: UnitOfWork;
  /** Runs as the purge role, which sees hidden responses. */
  purge: UnitOfWork;
}

/**
 * One round of ending what goes on for a deleted principal: its responses are cancelled, what is its own alone is
 * hidden, its connections are withdrawn.
 * @returns what has to end before its rows are erased: responses, calls whose outcome is to be recorded, tokens that are
 *   to be revoked, requests that were admitted before the deletion
 */
export async function haltPrincipal({ unitOfWork, purge }: Roles, principal: PrincipalRef): Promise<number> {
  const { tenantId, principalId } = principal;
  const work: WorkOf = { tenantId, column: 'principal_id', id: principalId };
  await cancelWork(purge, work);
  await hideOwn(purge, principal);
  await resolveCalls(purge, work);
  await withdrawConnections(unitOfWork, tenantId, { ownerId: principalId });
  return purge.inTenant(
    tenantId,
    async (em) => (await countWork(em, work)) + (await countAwaited(em, principal)),
  );
}

/**
 * Its connections, and the deletion itself as long as requests that were admitted before it may still write, and readers
 * that are attached to a cancelled response have not received its end.
 */
async function countAwaited(em: EntityManager, { tenantId, principalId }: PrincipalRef): Promise<number> {
  const [row] = await em.execute<{ n: number }[]>(
    `select ((select count(*) from mcp_connections where tenant_id = ? and owner_id = ?)
       + (select count(*) from principals where tenant_id = ? and id = ?
          and deleted_at > now() - interval '15 seconds'))::int as n`,
    [tenantId, principalId, tenantId, principalId],
  );
  return row?.n ?? 0;
}
