import type { EntityManager } from '@mikro-orm/postgresql';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { cancelWork, countWork, resolveCalls, withdrawConnections, type WorkOf } from './halt-work.ts';

/** Rows of one transaction. */
const pageSize = 100;

interface SpaceRef {
  tenantId: string;
  spaceId: string;
}

/**
 * One round of ending what goes on in a deleted space: its collections are put out of sight, which ends their
 * extractions and runs; its responses are cancelled, its connections withdrawn.
 * @returns what has to end before its rows are erased: calls whose outcome is to be recorded, tokens that are to be
 *   revoked, members that are to be notified
 */
export async function haltSpace(unitOfWork: UnitOfWork, space: SpaceRef): Promise<number> {
  const { tenantId, spaceId } = space;
  const work: WorkOf = { tenantId, column: 'space_id', id: spaceId };
  while ((await unitOfWork.inTenant(tenantId, (em) => hideCollections(em, space))) === pageSize);
  await cancelWork(unitOfWork, work);
  await resolveCalls(unitOfWork, work);
  await withdrawConnections(unitOfWork, tenantId, { spaceId });
  return unitOfWork.inTenant(
    tenantId,
    async (em) => (await countWork(em, work)) + (await countAwaited(em, space)),
  );
}

async function hideCollections(em: EntityManager, { tenantId, spaceId }: SpaceRef): Promise<number> {
  const rows = await em.execute(
    `update collections set deleted_at = now() where tenant_id = ? and id in (
       select id from collections where tenant_id = ? and space_id = ? and deleted_at is null limit ${pageSize})
     returning id`,
    [tenantId, tenantId, spaceId],
  );
  return rows.length;
}

async function countAwaited(em: EntityManager, { tenantId, spaceId }: SpaceRef): Promise<number> {
  const [row] = await em.execute<{ n: number }[]>(
    `select ((select count(*) from mcp_connections where tenant_id = ? and space_id = ?)
       + (select count(*) from fan_outs f join events e on e.tenant_id = f.tenant_id and e.id = f.event_id
          where f.tenant_id = ? and f.event_type = 'space.deleted' and e.resource_id = ?))::int as n`,
    [tenantId, spaceId, tenantId, spaceId],
  );
  return row?.n ?? 0;
}
