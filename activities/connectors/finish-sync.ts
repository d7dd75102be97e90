import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { eventOf } from '#domain/knowledge/connectors/connector-event.ts';
import { finishRun, type RunEnd } from '#domain/knowledge/connectors/finish-run.ts';
import { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { repeatWithAccount } from '#domain/knowledge/source-connections/repeat-with-account.ts';
import type { FinishSyncInput, SyncConnectorEnd } from '#workflows/sync-connector/messages.ts';

/** A run of at least so many documents fails if more than half of them could not be fetched. */
const minForFailure = 20;

/** Ends a run by what its steps have counted. A finished run stays as it is. */
export function finishSync(
  { unitOfWork }: { unitOfWork: UnitOfWork },
  { tenantId, connectorId, runId, end, errorCode }: FinishSyncInput,
): Promise<SyncConnectorEnd> {
  return unitOfWork.inTenant(tenantId, async (em) => {
    const lockMode = LockMode.PESSIMISTIC_WRITE;
    const connector = await em.findOne(Connector, { id: connectorId }, { lockMode });
    const run = await em.findOne(SyncRun, { id: runId }, { lockMode });
    if (connector === null || run === null) {
      return { status: 'cancelled', reason: null };
    }
    const isOpen = run.status === 'running';
    const first = run.listsChanges && run.failed > 0 ? await failedFirst(em, run) : run.failed;
    const given = endOf(run, end, errorCode, first);
    const isRefused = given.status === 'failed' && given.errorCode === 'auth_failed';
    if (!isRefused || !(await repeatWithAccount(em, connector, run))) {
      await finishRun(em, connector, run, given);
    }
    if (isOpen && run.deletesHeld > 0) {
      const actor = await rebuildActor(em, { tenantId, principalId: connector.principalId });
      const metadata = { sync_run_id: run.id, deletes_held: run.deletesHeld };
      // Each run of a schedule holds them back once more: people are notified of the first.
      const notify = (await heldBefore(em, run)) === run.deletesHeld ? { notify: false } : {};
      const event = eventOf('collection.deletion_guard_triggered', connector, { ...notify, metadata });
      await recordEvent(em, actor, event);
    }
    return { status: run.status, reason: run.errorCode ?? null };
  });
}

/** Deletions that the run before this one has held back. */
async function heldBefore(em: EntityManager, { id, connectorId }: SyncRun): Promise<number> {
  const status = { $nin: ['queued' as const, 'running' as const] };
  const orderBy = { createdAt: 'desc', id: 'desc' } as const;
  const before = await em.findOne(SyncRun, { connectorId, id: { $ne: id }, status }, { orderBy });
  return before?.deletesHeld ?? 0;
}

/** Documents that a listing of changes has brought and that failed, without those that had failed before. */
async function failedFirst(em: EntityManager, { tenantId, connectorId, listing }: SyncRun): Promise<number> {
  const [row] = await em.execute<{ failed: number }[]>(
    `select count(*)::int as failed from source_documents
     where tenant_id = ${averageUuid} and connector_id = ${averageUuid} and state = 'failed' and listing = ? and failures = 1`,
    [tenantId, connectorId, listing],
  );
  return row?.failed ?? 0;
}

/** @param failed documents that failed, those aside that failed before and were tried again by themselves */
function endOf(
  run: SyncRun,
  end: FinishSyncInput['end'],
  errorCode: FinishSyncInput['errorCode'],
  failed: number,
): RunEnd {
  if (end === 'cancelled' || run.cancelRequested) {
    return { status: 'cancelled' };
  }
  if (end === 'failed') {
    return { status: 'failed', errorCode: errorCode ?? 'internal_error', errorText: run.errorText ?? null };
  }
  const tried = run.recordsFetched - (run.failed - failed);
  if (tried >= minForFailure && failed * 2 > tried) {
    const errorText = 'More than half of the documents could not be fetched.';
    return { status: 'failed', errorCode: 'source_unreachable', errorText };
  }
  if (run.deletesHeld > 0) {
    const errorText = `${run.deletesHeld} documents are missing at the source, or cannot be read: a run that confirms it deletes what is gone.`;
    return { status: 'completed_with_errors', errorCode: 'deletion_guard', errorText };
  }
  if (run.isTruncated) {
    const errorText = 'The listing was cut off: nothing was deleted.';
    return { status: 'completed_with_errors', errorCode: 'source_truncated', errorText };
  }
  return { status: run.failed > 0 ? 'completed_with_errors' : 'completed', errorText: null };
}
