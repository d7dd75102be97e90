import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { recordEvent, type AuditEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import type { Connector } from './connector.entity.ts';
import { eventOf } from './connector-event.ts';
import { isRunnable } from './connector-status.ts';
import { SyncRun } from './sync-run.entity.ts';
import { isFinished, isRepeatable, maxRepeated, type SyncErrorCode, type SyncStatus } from './sync-status.ts';

export interface RunEnd {
  status: Exclude<SyncStatus, 'queued' | 'running'>;
  errorCode?: SyncErrorCode | null;
  /** One sentence of the platform. */
  errorText?: string | null;
  /** Who ends it by a request; omitted: it ends by itself, on behalf of its requester. */
  by?: Actor;
}

/** After so many failed runs in a row, people are notified. */
const warnAfter = 5;
/** A connector is suspended after so many failed runs in a row, and so much time. */
const suspendAfter = { runs: 30, ms: 7 * 86_400_000 };

/**
 * Ends a run of a locked connector, and what follows from it for the connector: its checkpoint, its status, whom to
 * notify. A finished run stays as it is.
 */
export async function finishRun(
  em: EntityManager,
  connector: Connector,
  run: SyncRun,
  end: RunEnd,
): Promise<void> {
  if (isFinished(run.status)) {
    return;
  }
  const now = await databaseNow(em);
  const isFirst = connector.lastSyncedAt == null;
  run.status = end.status;
  run.errorCode = end.errorCode ?? null;
  run.errorText = end.errorText ?? null;
  run.completedAt = now;
  run.updatedAt = now;
  const events: AuditEvent[] = [];
  const record = (type: Parameters<typeof eventOf>[0], more?: Parameters<typeof eventOf>[2]) =>
    events.push(
      eventOf(type, connector, {
        ...more,
        dedupeKey: `${type}/${run.id}`,
        metadata: { sync_run_id: run.id, reason: run.errorCode ?? null, ...more?.metadata },
      }),
    );
  switch (end.status) {
    case 'completed':
    case 'completed_with_errors':
      await succeed(em, { connector, run }, now);
      record(`collection.sync_${end.status}`, {
        ...(isFirst ? {} : { notify: false }),
        metadata: countsOf(run),
      });
      break;
    case 'failed':
      dropCheckpoint(connector, run);
      record('collection.sync_failed', { outcome: 'failure' });
      for (const type of fail(connector, end.errorCode ?? 'internal_error', now)) {
        record(type, { outcome: 'failure' });
      }
      break;
    case 'cancelled':
      dropCheckpoint(connector, run);
      record('collection.sync_cancelled');
  }
  await em.flush();
  if (!isRunnable(connector.status)) {
    await dropQueued(em, connector, run, now);
  }
  const actor = end.by ?? (await requesterOf(em, connector, run));
  for (const event of [...documentEvents(connector, run), ...events]) {
    await recordEvent(em, actor, event);
  }
}

async function requesterOf(em: EntityManager, connector: Connector, run: SyncRun): Promise<Actor> {
  const requester = { tenantId: run.tenantId, principalId: run.createdBy ?? connector.principalId };
  const actor = await rebuildActor(em, requester);
  const via = run.trigger === 'schedule' ? 'schedule' : 'workflow';
  return { ...actor, origin: { ...actor.origin, via } };
}

async function succeed(
  em: EntityManager,
  ended: { connector: Connector; run: SyncRun },
  now: Date,
): Promise<void> {
  const { connector, run } = ended;
  connector.failedRuns = 0;
  connector.failingSince = null;
  connector.staleNotifiedAt = null;
  connector.lastSyncedAt = now;
  if (connector.status === 'pending') {
    connector.become('active');
  }
  if (run.deletesHeld > 0 && !run.listsChanges) {
    // Only another listing of everything shows what is missing once more.
    connector.checkpoint = null;
  } else if (run.isListed && !run.isTruncated && (await canRepeatFailed(em, run))) {
    connector.checkpoint = run.cursorTo ?? null;
  } else {
    // What failed is listed again by the next run.
    dropCheckpoint(connector, run);
  }
}

/**
 * Whether what failed need not be listed again: all that failed in the listing of a run can be fetched by itself, and
 * the connector has no more of it than a run takes.
 */
async function canRepeatFailed(em: EntityManager, run: SyncRun): Promise<boolean> {
  if (run.failed === 0) {
    return true;
  }
  const failed = `select from source_documents
    where tenant_id = ${averageUuid} and connector_id = ${averageUuid} and state = 'failed'`;
  const of = [run.tenantId, run.connectorId];
  const [row] = await em.execute<{ repeats: boolean }[]>(
    `select not exists (${failed} and listing = ? and not ${isRepeatable})
       and (select count(*) from (${failed} limit ${maxRepeated + 1}) f) <= ${maxRepeated} as repeats`,
    [...of, run.listing, ...of],
  );
  return row?.repeats === true;
}

/**
 * After a run whose checkpoint does not count, the next one lists everything: what the run has stored or marked as gone,
 * and the source has taken back since, is no change since the checkpoint before the run.
 */
function dropCheckpoint(connector: Connector, run: SyncRun): void {
  if (run.pages > 0 || run.recordsFetched > 0 || run.position != null) {
    connector.checkpoint = null;
  }
}

/** @returns the events beside that of the failed run */
function fail(connector: Connector, code: SyncErrorCode, now: Date) {
  connector.failedRuns += 1;
  connector.failingSince ??= now;
  if (!isRunnable(connector.status)) {
    return [];
  }
  if (code === 'auth_failed') {
    connector.become('auth_required', code);
    return ['collection.connector_auth_required'] as const;
  }
  const isSpent =
    connector.failedRuns >= suspendAfter.runs &&
    now.getTime() - connector.failingSince.getTime() >= suspendAfter.ms;
  if (code === 'scope_invalid' || isSpent) {
    connector.become('error', code);
    return ['collection.connector_suspended'] as const;
  }
  return connector.failedRuns === warnAfter ? (['collection.sync_failing'] as const) : [];
}

/** A queued run of a connector that no longer runs would wait for ever. */
async function dropQueued(em: EntityManager, { id }: Connector, ended: SyncRun, now: Date): Promise<void> {
  const queued = await em.findOne(SyncRun, { connectorId: id, status: 'queued', id: { $ne: ended.id } });
  if (queued !== null) {
    queued.status = 'cancelled';
    queued.completedAt = now;
    await em.flush();
  }
}

function countsOf({
  recordsFetched,
  added,
  updated,
  unchanged,
  skipped,
  failed,
  deleted,
  deletesHeld,
}: SyncRun) {
  return {
    records_fetched: recordsFetched,
    added,
    updated,
    unchanged,
    skipped,
    failed,
    deleted,
    deletes_held: deletesHeld,
  };
}

/** One event for all documents of the run. */
function documentEvents({ collectionId, id }: Connector, run: SyncRun): AuditEvent[] {
  const resource = { type: 'collection' as const, id: collectionId };
  const about = (type: 'collection.documents_added' | 'collection.documents_deleted', count: number) => ({
    type,
    resource,
    dedupeKey: `${type}/${run.id}`,
    metadata: { count, connector_id: id, sync_run_id: run.id },
  });
  return [
    ...(run.added > 0 ? [about('collection.documents_added', run.added)] : []),
    ...(run.deleted > 0 ? [about('collection.documents_deleted', run.deleted)] : []),
  ];
}
