import type { EntityManager } from '@mikro-orm/postgresql';
import { Connection } from '#domain/capabilities/connections/connection.entity.ts';
import { withdraw } from '#domain/capabilities/connections/withdraw-connections.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { cancelWork, countWork, resolveCalls, type WorkOf } from './halt-work.ts';
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
 *   to be revoked
 */
export async function haltPrincipal({ unitOfWork, purge }: Roles, principal: PrincipalRef): Promise<number> {
  const { tenantId, principalId } = principal;
  const work: WorkOf = { tenantId, column: 'principal_id', id: principalId };
  await cancelWork(unitOfWork, work);
  await hideOwn(purge, principal);
  await resolveCalls(purge, work);
  await unitOfWork.inTenant(tenantId, async (em) => {
    for (const connection of await em.find(Connection, { ownerId: principalId, withdrawnAt: null })) {
      await withdraw(em, connection);
    }
  });
  return purge.inTenant(
    tenantId,
    async (em) => (await countWork(em, work)) + (await countConnections(em, principal)),
  );
}

async function countConnections(em: EntityManager, { tenantId, principalId }: PrincipalRef): Promise<number> {
  const [row] = await em.execute<{ n: number }[]>(
    'select count(*)::int as n from mcp_connections where tenant_id = ? and owner_id = ?',
    [tenantId, principalId],
  );
  return row?.n ?? 0;
}
