import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { shareServer } from '#domain/capabilities/tools/space-server.ts';
import { shareCollection } from '#domain/knowledge/collections/share-collection.ts';
import { Connector } from './connector.entity.ts';
import { isRunnable } from './connector-status.ts';
import { expectWithin } from './expect-within.ts';
import { queueRun } from './queue-run.ts';
import { SyncRun } from './sync-run.entity.ts';
import { nextRuns } from './sync-schedule.ts';

export type Plan =
  /** The connector is deleted. */
  | { is: 'ended' }
  /** Its documents are to be deleted, then the connector. */
  | { is: 'deleting' }
  /** `isCancelled`: a cancel was requested; its message may have reached an earlier run of the actor. */
  | { is: 'run'; runId: string; isCancelled?: true }
  /** `waitMs` null: until a message comes. `watch`: the source may report changes meanwhile. */
  | { is: 'waiting'; status: Connector['status']; waitMs: number | null; watch?: true };

/** How long after its time a connector may be looked at before the sweep takes its actor to be lost. */
const graceSeconds = 300;
/** The actor of a source that can be watched looks at it once a day at least. */
const watchSeconds = 86_400 + graceSeconds;

/**
 * What a connector's actor does next. Begins the queued run, or that of the schedule; a run that is running already is
 * taken up again. Repeating it changes nothing.
 * @param reportsChanges whether sources of a provider can be watched
 */
export async function planRun(
  em: EntityManager,
  connectorId: string,
  reportsChanges: (providerSlug: string) => boolean = () => false,
): Promise<Plan> {
  const connector = await em.findOne(
    Connector,
    { id: connectorId },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  if (connector === null || !(await shareCollection(em, connector.collectionId))) {
    return { is: 'ended' };
  }
  const running = await em.findOne(SyncRun, { connectorId, status: 'running' });
  if (running !== null) {
    await expectWithin(em, connector, graceSeconds);
    return { is: 'run', runId: running.id, ...(running.cancelRequested && { isCancelled: true }) };
  }
  if (connector.status === 'deleting') {
    await expectWithin(em, connector, graceSeconds);
    return { is: 'deleting' };
  }
  if (!isRunnable(connector.status)) {
    await expectWithin(em, connector, null);
    return { is: 'waiting', status: connector.status, waitMs: null };
  }
  if (await isToBeDeleted(em, connector.tenantId)) {
    await expectWithin(em, connector, null);
    return { is: 'waiting', status: connector.status, waitMs: null };
  }
  const now = await databaseNow(em);
  const queued = await em.findOne(SyncRun, { connectorId, status: 'queued' });
  if (queued !== null) {
    return begin(em, connector, queued);
  }
  const due = await nextDue(em, connector);
  if (due !== null && due <= now) {
    const request = { trigger: 'schedule', mode: 'incremental', createdBy: null } as const;
    return begin(em, connector, await queueRun(em, connector, request));
  }
  const waitMs = due === null ? null : due.getTime() - now.getTime();
  const isWatched = connector.status === 'active' && reportsChanges(connector.providerSlug);
  const within = waitMs === null ? null : Math.ceil(waitMs / 1_000) + graceSeconds;
  await expectWithin(em, connector, within ?? (isWatched ? watchSeconds : null));
  return { is: 'waiting', status: connector.status, waitMs, ...(isWatched && { watch: true }) };
}

/** Its deletion can be cancelled, which wakes the connectors. */
export async function isToBeDeleted(em: EntityManager, tenantId: string): Promise<boolean> {
  const [row] = await em.execute<{ status: string }[]>('select status from tenants where tenant_id = ?', [
    tenantId,
  ]);
  return row?.status === 'deletion_scheduled' || row?.status === 'deleting';
}

/** The schedule's first time after the last run, however long ago that is: what was missed is done once. */
async function nextDue(em: EntityManager, connector: Connector): Promise<Date | null> {
  const orderBy = { createdAt: 'desc', id: 'desc' } as const;
  const last = await em.findOne(SyncRun, { connectorId: connector.id }, { orderBy });
  const since = last?.createdAt ?? connector.createdAt;
  return nextRuns(connector.syncSchedule ?? null, connector.id, since, 1)[0] ?? null;
}

async function begin(em: EntityManager, connector: Connector, run: SyncRun): Promise<Plan> {
  if (connector.serverId != null) {
    // An account that is being connected was connected before the run began, which uses it, or after.
    await shareServer(em, connector.serverId);
  }
  connector.listing += 1;
  run.status = 'running';
  run.startedAt = await databaseNow(em);
  run.listing = connector.listing;
  run.cursorFrom = run.mode === 'full' ? null : (connector.checkpoint ?? null);
  await em.flush();
  await expectWithin(em, connector, graceSeconds);
  return { is: 'run', runId: run.id };
}
