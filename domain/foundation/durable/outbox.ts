import type { EntityManager } from '@mikro-orm/postgresql';
import type { Dispatch, WorkflowType } from './dispatcher.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';

const firstLeaseSeconds = 5;

export interface DurableStart {
  tenantId: string;
  workflowType: WorkflowType;
  workflowId: string;
  /** The workflow's input: ids and numbers only. */
  payload: Record<string, string | number>;
  /** Nobody dispatches it after the commit: the next relay does. */
  dueNow?: boolean;
}

/** Owes a workflow start to the engine, in the transaction of the change that wants it. */
export async function enqueueStart(em: EntityManager, start: DurableStart): Promise<Dispatch> {
  const { dispatch, leaseSeconds } = toOwed(start);
  return insert(em, dispatch, leaseSeconds);
}

/** A start as its row, for SQL that writes it together with its change, leased from then on. */
export function toOwed({ dueNow = false, ...row }: DurableStart): OwedStart {
  return { dispatch: { ...row, id: newId(), kind: 'start' }, leaseSeconds: dueNow ? 0 : firstLeaseSeconds };
}

export interface OwedStart {
  dispatch: Dispatch;
  leaseSeconds: number;
}

/**
 * Owes a cancel, which is sent behind the start. A start that nobody was ever given to send goes instead: nothing runs.
 * One whose lease has run out may have been sent by a process that died before it could say so.
 * @returns null when nothing has to be sent.
 */
export async function enqueueCancel(
  em: EntityManager,
  target: Omit<DurableStart, 'payload' | 'dueNow'>,
): Promise<Dispatch | null> {
  const unsent = await em.execute(
    `delete from outbox where tenant_id = ? and workflow_id = ? and kind = 'start' and claimed_until <= created_at returning id`,
    [target.tenantId, target.workflowId],
  );
  return unsent.length > 0 ? null : insert(em, { ...target, payload: {}, id: newId(), kind: 'cancel' });
}

/** Unless due now, the row is leased to this process for a moment, since it dispatches after the commit. */
async function insert(em: EntityManager, row: Dispatch, leaseSeconds = firstLeaseSeconds): Promise<Dispatch> {
  await em.execute(
    `insert into outbox (tenant_id, id, kind, workflow_type, workflow_id, payload, claimed_until)
     values (?, ?, ?, ?, ?, ?, now() + make_interval(secs => ?))`,
    [
      row.tenantId,
      row.id,
      row.kind,
      row.workflowType,
      row.workflowId,
      JSON.stringify(row.payload),
      leaseSeconds,
    ],
  );
  return row;
}

/** Whether a start of the workflow has not been acknowledged yet. */
export async function isOwed(em: EntityManager, workflowId: string): Promise<boolean> {
  const owed = await em.execute('select id from outbox where workflow_id = ?', [workflowId]);
  return owed.length > 0;
}

/** Hands rows that this process will not send to the relays at once, instead of when their first lease ends. */
export async function leaveToRelays(em: EntityManager, rows: readonly Dispatch[]): Promise<void> {
  for (const { tenantId, id } of rows) {
    await em.execute('update outbox set claimed_until = now() where tenant_id = ? and id = ?', [
      tenantId,
      id,
    ]);
  }
}

interface OutboxRow {
  tenant_id: string;
  id: string;
  kind: Dispatch['kind'];
  workflow_type: WorkflowType;
  workflow_id: string;
  payload: Dispatch['payload'];
}

/** Leases due rows of all tenants for ten seconds. */
export async function claimOutbox(database: Database, limit: number): Promise<Dispatch[]> {
  const rows = await database.call<OutboxRow>('claim_outbox', 'select * from app.claim_outbox($1)', [limit]);
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    id: row.id,
    kind: row.kind,
    workflowType: row.workflow_type,
    workflowId: row.workflow_id,
    payload: row.payload,
  }));
}

export async function removeFromOutbox(database: Database, row: Dispatch): Promise<void> {
  await database.call('remove_outbox', 'select app.remove_outbox($1, $2)', [row.tenantId, row.id]);
}

/** Nobody sends the row before `waitMs` milliseconds are over; a relay does then. */
export async function postponeInOutbox(database: Database, row: Dispatch, waitMs: number): Promise<void> {
  await database.call('postpone_outbox', 'select app.postpone_outbox($1, $2, $3)', [
    row.tenantId,
    row.id,
    waitMs,
  ]);
}

export async function outboxAgeSeconds(database: Database): Promise<number> {
  const [row] = await database.call<{ age: number }>(
    'outbox_age',
    'select app.outbox_age_seconds() as age',
    [],
  );
  return row?.age ?? 0;
}
