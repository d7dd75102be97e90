import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { Connector } from './connector.entity.ts';
import { isToBeDeleted } from './plan-run.ts';
import { queueRun } from './queue-run.ts';
import { SyncRun } from './sync-run.entity.ts';

export interface ChangePace {
  runs: number;
  withinMs: number;
}

/**
 * Queues an incremental run because the source has reported a change, or may have changed while nobody listened. A
 * queued run is enough: it lists the source later than now. Does nothing for a connector that is not active.
 * @param pace such runs that may be queued within a time, so that no source makes more of them
 * @returns milliseconds after which it may be asked again; 0: a run is queued, or none is needed
 */
export async function reportChange(
  em: EntityManager,
  connectorId: string,
  pace: ChangePace,
): Promise<number> {
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const connector = await em.findOne(Connector, { id: connectorId }, { lockMode });
  if (connector?.status !== 'active' || (await isToBeDeleted(em, connector.tenantId))) {
    return 0;
  }
  const { tenantId } = connector;
  if ((await em.findOne(SyncRun, { connectorId, status: 'queued' })) !== null) {
    return 0;
  }
  const now = (await databaseNow(em)).getTime();
  const recent = await em.find(
    SyncRun,
    { connectorId, trigger: 'webhook', createdAt: { $gt: new Date(now - pace.withinMs) } },
    { orderBy: { createdAt: 'desc', id: 'desc' }, limit: pace.runs },
  );
  const first = recent[pace.runs - 1];
  if (first !== undefined) {
    return first.createdAt.getTime() + pace.withinMs - now;
  }
  const run = await queueRun(em, connector, { trigger: 'webhook', mode: 'incremental', createdBy: null });
  await enqueue(em, signalWithStart('runConnector', { tenantId, connectorId }, 'syncRequested', [run.id]));
  return 0;
}
