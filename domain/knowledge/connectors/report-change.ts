import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { Connector } from './connector.entity.ts';
import { isToBeDeleted } from './plan-run.ts';
import { queueRun } from './queue-run.ts';
import { SyncRun } from './sync-run.entity.ts';

/** Runs that may be queued within a time, so that no source makes more of them. */
export interface ChangePace {
  runs: number;
  withinMs: number;
  /** The time is doubled, up to this, for each of the last runs in a row that changed nothing; omitted: it is not. */
  maxWithinMs?: number;
}

/** Runs that reports have begun are looked at for so long: whether they found what was reported. */
const lookBackMs = 86_400_000;
/** Doublings that are counted: a minute becomes more than an hour. */
const maxDoublings = 10;

/**
 * Queues an incremental run because the source has reported a change, or may have changed while nobody listened. A
 * queued run is enough: it lists the source later than now. Does nothing for a connector that is not active.
 * @param pace a source may report a change whenever it is read: runs that find nothing become fewer
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
  const reported = await em.find(
    SyncRun,
    { connectorId, trigger: 'webhook', createdAt: { $gt: new Date(now - lookBackMs) } },
    { orderBy: { createdAt: 'desc', id: 'desc' }, limit: Math.max(maxDoublings, pace.runs) },
  );
  const first = reported[pace.runs - 1];
  const waitMs = first === undefined ? 0 : first.createdAt.getTime() + lengthened(pace, reported) - now;
  if (waitMs > 0) {
    return waitMs;
  }
  const run = await queueRun(em, connector, { trigger: 'webhook', mode: 'incremental', createdBy: null });
  await enqueue(em, signalWithStart('runConnector', { tenantId, connectorId }, 'syncRequested', [run.id]));
  return 0;
}

/** @param runs those that reports have begun, the newest first */
function lengthened({ withinMs, maxWithinMs = withinMs }: ChangePace, runs: readonly SyncRun[]): number {
  const ended = runs.filter(({ completedAt }) => completedAt != null);
  const fruitful = ended.findIndex(({ added, updated, deleted }) => added + updated + deleted > 0);
  const doublings = fruitful === -1 ? ended.length : fruitful;
  return Math.min(withinMs * 2 ** doublings, maxWithinMs);
}
