import type { EntityManager } from '@mikro-orm/postgresql';
import { Connection } from '#domain/capabilities/connections/connection.entity.ts';
import { withdraw } from '#domain/capabilities/connections/withdraw-connections.ts';
import { RowFailures } from '#domain/foundation/persistence/row-failures.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { reconcileLostCalls } from '#domain/responses/calls/lost-calls.ts';
import { haltResponse } from '#domain/responses/end/halt-response.ts';
import { Response } from '#domain/responses/record/response.entity.ts';

/** Rows of one look. */
const pageSize = 100;

/** The responses of a root: of a space, or of a person. */
export interface WorkOf {
  tenantId: string;
  column: 'space_id' | 'principal_id';
  id: string;
}

/** Cancels the running responses of a root; what cannot be cancelled now is awaited. */
export async function cancelWork(unitOfWork: UnitOfWork, work: WorkOf): Promise<void> {
  const { tenantId, column } = work;
  await eachOf(
    unitOfWork,
    work,
    `select id from responses where tenant_id = ? and ${column} = ? and finished_at is null and id > ?
     order by id limit ${pageSize}`,
    async (em, responseId) => {
      await haltResponse(em, { tenantId, responseId });
    },
  );
}

/**
 * Ends calls that nobody carries out any more: the ledger is erased, but the event of a call that may have taken effect is
 * recorded first.
 */
export async function resolveCalls(unitOfWork: UnitOfWork, work: WorkOf): Promise<void> {
  await eachOf(
    unitOfWork,
    work,
    `select distinct r.id from responses r join tool_calls c on c.tenant_id = r.tenant_id and c.response_id = r.id
     where r.tenant_id = ? and r.${work.column} = ? and c.status = 'started' and r.id > ? order by r.id limit ${pageSize}`,
    async (em, id) => {
      const response = await em.findOne(Response, { id });
      if (response !== null) await reconcileLostCalls(em, response);
    },
  );
}

/** Its tokens are revoked at their authorization servers by the sweep. */
export async function withdrawConnections(
  unitOfWork: UnitOfWork,
  tenantId: string,
  of: { spaceId: string } | { ownerId: string },
): Promise<void> {
  await unitOfWork.inTenant(tenantId, async (em) => {
    for (const connection of await em.find(Connection, { ...of, withdrawnAt: null })) {
      await withdraw(em, connection);
    }
  });
}

/** @returns responses that have not ended, and calls whose outcome is to be recorded */
export async function countWork(em: EntityManager, { tenantId, column, id }: WorkOf): Promise<number> {
  const [row] = await em.execute<{ n: number }[]>(
    `select ((select count(*) from responses where tenant_id = ? and ${column} = ? and finished_at is null)
       + (select count(*) from responses r join tool_calls c on c.tenant_id = r.tenant_id and c.response_id = r.id
          where r.tenant_id = ? and r.${column} = ? and c.status = 'started'))::int as n`,
    [tenantId, id, tenantId, id],
  );
  return row?.n ?? 0;
}

/** Each row is a transaction of its own. */
async function eachOf(
  unitOfWork: UnitOfWork,
  { tenantId, id: rootId }: WorkOf,
  list: string,
  work: (em: EntityManager, id: string) => Promise<void>,
): Promise<void> {
  const failures = new RowFailures();
  for (let after = ''; ;) {
    const rows = await unitOfWork.inTenant(tenantId, (em) =>
      em.execute<{ id: string }[]>(list, [tenantId, rootId, after]),
    );
    for (const { id } of rows) {
      after = id;
      await failures.collect(() => unitOfWork.inTenant(tenantId, (em) => work(em, id)));
    }
    if (rows.length < pageSize) return;
  }
}
