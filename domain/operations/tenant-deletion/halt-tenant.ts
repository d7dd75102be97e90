import type { EntityManager } from '@mikro-orm/postgresql';
import { signal } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import { RowFailures } from '#domain/foundation/persistence/row-failures.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { haltResponse } from '#domain/responses/end/halt-response.ts';
import { Response } from '#domain/responses/record/response.entity.ts';

const pageSize = 100;

/**
 * Cancels every running response of a tenant whose access is cut, each in its own transaction, and asks the runs of
 * connectors to end. Their readers see the status. Each transaction looks whether the deletion still stands: an attempt
 * that is late, after a cancel, ends no work of a live tenant. @returns the number of responses that it ended
 */
export async function haltTenant(unitOfWork: UnitOfWork, tenantId: string): Promise<number> {
  if (!(await cancelRuns(unitOfWork, tenantId))) {
    return 0;
  }
  const failures = new RowFailures();
  let ended = 0;
  let after = '';
  for (;;) {
    const running = await unitOfWork.inTenant(tenantId, (em) => listRunning(em, after));
    let stands = true;
    for (const { id } of running) {
      after = id;
      await failures.collect(async () => {
        const outcome = await endResponse(unitOfWork, tenantId, id);
        ended += outcome === 'ended' ? 1 : 0;
        stands = outcome !== 'not_deleting';
      });
      if (!stands) {
        return ended;
      }
    }
    if (running.length < pageSize) {
      return ended;
    }
  }
}

/** Whether the tenant is to be deleted, until the end of the transaction: a cancel waits for it. */
async function isToBeDeleted(em: EntityManager, tenantId: string): Promise<boolean> {
  const [tenant] = await em.execute<{ status: string }[]>(
    'select status from tenants where tenant_id = ? for share',
    [tenantId],
  );
  return tenant?.status === 'deletion_scheduled' || tenant?.status === 'deleting';
}

const listRunning = (em: EntityManager, after: string) =>
  em.find(
    Response,
    { finishedAt: null, id: { $gt: after } },
    { fields: ['id'], orderBy: { id: 'asc' }, limit: pageSize },
  );

async function endResponse(
  unitOfWork: UnitOfWork,
  tenantId: string,
  responseId: string,
): Promise<'ended' | 'has_ended' | 'not_deleting'> {
  return unitOfWork.inTenant(tenantId, async (em) => {
    if (!(await isToBeDeleted(em, tenantId))) {
      return 'not_deleting';
    }
    return (await haltResponse(em, { tenantId, responseId })) ? 'ended' : 'has_ended';
  });
}

/** @returns false if the tenant is not to be deleted */
async function cancelRuns(unitOfWork: UnitOfWork, tenantId: string): Promise<boolean> {
  return unitOfWork.inTenant(tenantId, async (em) => {
    if (!(await isToBeDeleted(em, tenantId))) {
      return false;
    }
    for (const run of await em.find(SyncRun, { status: 'running', cancelRequested: false })) {
      run.cancelRequested = true;
      const ids = { tenantId, connectorId: run.connectorId };
      await enqueue(em, signal('runConnector', ids, 'cancelRun', [run.id]));
    }
    return true;
  });
}
