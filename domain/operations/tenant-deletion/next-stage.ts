import type { EntityManager } from '@mikro-orm/postgresql';
import { announceChange } from '#domain/foundation/access/announce-change.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import type { DeletionStatus } from './deletion-status.ts';
import { lockDeletion, newestDeletion } from './find-deletion.ts';
import type { TenantDeletion } from './tenant-deletion.entity.ts';

/** The owners are notified once more this long before the erasure begins. */
export const noticeMs = 86_400_000;

export type DeletionStage =
  /** `next`: of a deletion that was requested after this one was cancelled; it waits for this workflow’s id. */
  | { is: 'ended'; status: DeletionStatus; next?: string }
  | { is: 'waiting'; waitMs: number }
  | { is: 'deleting' };

/** What the deletion does next. Begins the erasure when its time has come; repeating it changes nothing. */
export async function nextStage(
  em: EntityManager,
  tenantId: string,
  deletionId: string,
): Promise<DeletionStage> {
  // The lock order of requests: the tenant before its deletion.
  await em.execute('select from tenants where tenant_id = ? for no key update', [tenantId]);
  const deletion = await lockDeletion(em, deletionId);
  if (!deletion.isOpen()) {
    const newest = await newestDeletion(em);
    const next = newest?.isOpen() === true ? { next: newest.id } : {};
    return { is: 'ended', status: deletion.status, ...next };
  }
  if (deletion.status === 'deleting') {
    return { is: 'deleting' };
  }
  deletion.failure = null;
  const now = await databaseNow(em);
  const leftMs = deletion.purgeAfter.getTime() - now.getTime();
  if (leftMs <= 0) {
    await begin(em, deletion, now);
    return { is: 'deleting' };
  }
  if (leftMs > noticeMs) {
    return { is: 'waiting', waitMs: leftMs - noticeMs };
  }
  if (deletion.warnedAt == null) {
    deletion.warnedAt = now;
    // A grace time that was shorter from the beginning was announced by the request.
    if (now.getTime() - deletion.requestedAt.getTime() > noticeMs / 24) {
      await record(em, deletion, 'system.tenant_deletion_imminent');
    }
  }
  return { is: 'waiting', waitMs: leftMs };
}

async function begin(em: EntityManager, deletion: TenantDeletion, now: Date): Promise<void> {
  const { tenantId } = deletion;
  const [row] = await em.execute<{ begun: boolean }[]>('select app.begin_deleting(?) as begun', [tenantId]);
  if (row?.begun !== true) {
    throw new DomainError('invalid_state', 'The tenant of this deletion is not one that is to be deleted.');
  }
  await record(em, deletion, 'system.tenant_deletion_started');
  deletion.status = 'deleting';
  deletion.step = 'stopping';
  deletion.startedAt = now;
  deletion.updatedAt = now;
  await em.flush();
  await announceChange(em, tenantId);
}

async function record(
  em: EntityManager,
  { tenantId, id, purgeAfter, reasonCode }: TenantDeletion,
  type: 'system.tenant_deletion_imminent' | 'system.tenant_deletion_started',
): Promise<void> {
  await recordEvent(
    em,
    { tenantId, principalId: null, principalType: 'anonymous', origin: { via: 'workflow', requestId: null } },
    {
      type,
      resource: { type: 'tenant', id: tenantId },
      reason: reasonCode,
      metadata: { deletion_id: id, purge_after: purgeAfter.toISOString() },
      dedupeKey: `${type}/${id}`,
    },
  );
}
