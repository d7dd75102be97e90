import type { EntityManager } from '@mikro-orm/postgresql';
import { Connection } from '#domain/capabilities/connections/connection.entity.ts';
import { withdraw } from '#domain/capabilities/connections/withdraw-connections.ts';
import { RowFailures } from '#domain/foundation/persistence/row-failures.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { reconcileLostCalls } from '#domain/responses/calls/lost-calls.ts';
import { haltResponse } from '#domain/responses/end/halt-response.ts';
import { Response } from '#domain/responses/record/response.entity.ts';

/** Rows of one transaction, or of one look. */
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
  const { tenantId } = space;
  const failures = new RowFailures();
  while ((await unitOfWork.inTenant(tenantId, (em) => hideCollections(em, space))) === pageSize);
  await eachOf(unitOfWork, space, runningAfter, (id) =>
    failures.collect(async () => {
      await unitOfWork.inTenant(tenantId, (em) => haltResponse(em, { tenantId, responseId: id }));
    }),
  );
  await eachOf(unitOfWork, space, callingAfter, (id) =>
    failures.collect(() => unitOfWork.inTenant(tenantId, (em) => resolveCalls(em, id))),
  );
  await unitOfWork.inTenant(tenantId, async (em) => {
    for (const connection of await em.find(Connection, { spaceId: space.spaceId, withdrawnAt: null })) {
      await withdraw(em, connection);
    }
  });
  return unitOfWork.inTenant(tenantId, (em) => countAwaited(em, space));
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

type ListAfter = (em: EntityManager, space: SpaceRef, after: string) => Promise<{ id: string }[]>;

const runningAfter: ListAfter = (em, { spaceId }, after) =>
  em.find(
    Response,
    { spaceId, finishedAt: null, id: { $gt: after } },
    { fields: ['id'], orderBy: { id: 'asc' }, limit: pageSize },
  );

const callingAfter: ListAfter = (em, { tenantId, spaceId }, after) =>
  em.execute<{ id: string }[]>(
    `select distinct r.id from responses r join tool_calls c on c.tenant_id = r.tenant_id and c.response_id = r.id
     where r.tenant_id = ? and r.space_id = ? and c.status = 'started' and r.id > ? order by r.id limit ${pageSize}`,
    [tenantId, spaceId, after],
  );

async function eachOf(
  unitOfWork: UnitOfWork,
  space: SpaceRef,
  list: ListAfter,
  work: (id: string) => Promise<unknown>,
): Promise<void> {
  for (let after = ''; ;) {
    const rows = await unitOfWork.inTenant(space.tenantId, (em) => list(em, space, after));
    for (const { id } of rows) {
      after = id;
      await work(id);
    }
    if (rows.length < pageSize) return;
  }
}

/** The ledger is erased, but the event of a call that may have taken effect is recorded first. */
async function resolveCalls(em: EntityManager, id: string): Promise<void> {
  const response = await em.findOne(Response, { id });
  if (response !== null) await reconcileLostCalls(em, response);
}

async function countAwaited(em: EntityManager, { tenantId, spaceId }: SpaceRef): Promise<number> {
  const [row] = await em.execute<{ n: number }[]>(
    `select ((select count(*) from responses where tenant_id = ? and space_id = ? and finished_at is null)
       + (select count(*) from responses r join tool_calls c on c.tenant_id = r.tenant_id and c.response_id = r.id
          where r.tenant_id = ? and r.space_id = ? and c.status = 'started')
       + (select count(*) from mcp_connections where tenant_id = ? and space_id = ?)
       + (select count(*) from fan_outs f join events e on e.tenant_id = f.tenant_id and e.id = f.event_id
          where f.tenant_id = ? and f.event_type = 'space.deleted' and e.resource_id = ?))::int as n`,
    [tenantId, spaceId, tenantId, spaceId, tenantId, spaceId, tenantId, spaceId],
  );
  return row?.n ?? 0;
}
