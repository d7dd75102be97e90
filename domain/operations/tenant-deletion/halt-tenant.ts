import type { EntityManager } from '@mikro-orm/postgresql';
import { cancel, signal } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import { RowFailures } from '#domain/foundation/persistence/row-failures.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { finishResponse } from '#domain/responses/end/finish-response.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { lockHead } from '#domain/responses/store/head.ts';

const pageSize = 100;

/**
 * Cancels every running response of a tenant whose access is cut, each in its own transaction, and asks the runs of
 * connectors to end. Their readers see the status. @returns the number of responses that it ended
 */
export async function haltTenant(unitOfWork: UnitOfWork, tenantId: string): Promise<number> {
  await cancelRuns(unitOfWork, tenantId);
  const failures = new RowFailures();
  let ended = 0;
  let after = '';
  for (;;) {
    const running = await unitOfWork.inTenant(tenantId, (em) => listRunning(em, after));
    for (const { id } of running) {
      after = id;
      await failures.collect(async () => {
        ended += (await endResponse(unitOfWork, tenantId, id)) ? 1 : 0;
      });
    }
    if (running.length < pageSize) {
      return ended;
    }
  }
}

const listRunning = (em: EntityManager, after: string) =>
  em.find(
    Response,
    { finishedAt: null, id: { $gt: after } },
    { fields: ['id'], orderBy: { id: 'asc' }, limit: pageSize },
  );

async function endResponse(unitOfWork: UnitOfWork, tenantId: string, responseId: string): Promise<boolean> {
  return unitOfWork.inTenant(tenantId, async (em) => {
    const head = await lockHead(em, responseId);
    if (
      head === null ||
      !(await finishResponse(em, head.response, head.now, { status: 'cancelled', by: null }))
    ) {
      return false;
    }
    if (head.response.blockedBy == null) {
      await enqueue(em, cancel('generateResponse', { tenantId, responseId }));
    }
    return true;
  });
}

async function cancelRuns(unitOfWork: UnitOfWork, tenantId: string): Promise<void> {
  await unitOfWork.inTenant(tenantId, async (em) => {
    for (const run of await em.find(SyncRun, { status: 'running', cancelRequested: false })) {
      run.cancelRequested = true;
      const ids = { tenantId, connectorId: run.connectorId };
      await enqueue(em, signal('runConnector', ids, 'cancelRun', [run.id]));
    }
  });
}
