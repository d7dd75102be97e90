import type { EntityManager } from '@mikro-orm/postgresql';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Connector } from './connector.entity.ts';
import { expectWithin } from './expect-within.ts';
import { SyncRun } from './sync-run.entity.ts';
import type { SyncMode, SyncTrigger } from './sync-status.ts';

export interface RunRequest {
  trigger: SyncTrigger;
  mode: SyncMode;
  confirmDeletions?: boolean;
  createdBy: string | null;
}

/** The actor begins a queued run within this time. */
const patienceSeconds = 120;

/**
 * Queues a run of a locked connector. Requests coalesce: a queued run takes up what a further one asks for.
 * @returns the queued run
 */
export async function queueRun(
  em: EntityManager,
  connector: Connector,
  request: RunRequest,
): Promise<SyncRun> {
  const { tenantId, id: connectorId } = connector;
  const queued = await em.findOne(SyncRun, { connectorId, status: 'queued' });
  if (queued !== null) {
    queued.mode = request.mode === 'full' ? 'full' : queued.mode;
    queued.confirmDeletions ||= request.confirmDeletions ?? false;
    await em.flush();
    return queued;
  }
  const run = em.create(SyncRun, {
    tenantId,
    id: newId(),
    connectorId,
    trigger: request.trigger,
    mode: request.mode,
    confirmDeletions: request.confirmDeletions ?? false,
    createdBy: request.createdBy,
  });
  await em.persist(run).flush();
  // Should the message to its actor be lost, the sweep sends another one.
  await expectWithin(em, connector, patienceSeconds);
  return run;
}
