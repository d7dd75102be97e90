import type { EntityManager } from '@mikro-orm/postgresql';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import type { CancelMessage, Dispatch, Message, StartMessage } from './messages.ts';
import { ownRows } from './send-after-commit.ts';
import { factsOf } from './workflow-types.ts';

const firstLeaseSeconds = 5;

/**
 * Writes a message to a workflow into the outbox, in the transaction of the change that needs it. After the commit
 * the dispatcher or a relay sends it. Messages to one workflow are sent in the order of their ids.
 * @returns the row; null for a cancel that has nothing to cancel
 */
export async function enqueue(em: EntityManager, message: Message): Promise<Dispatch | null> {
  if (message.kind === 'cancel' && (await deletePendingStart(em, message))) {
    return null;
  }
  const own = ownRows(em) ?? [];
  const { kind, tenantId, workflowType, workflowId, payload } = message;
  // The database generates the id, so that the order does not depend on the clocks of processes.
  const [written] = await em.execute<{ id: string; tenant_id: string; leased: boolean }[]>(
    `with place as (select coalesce(?::uuid, current_setting('app.tenant_id')::uuid) as tenant_id)
     insert into outbox (tenant_id, id, kind, workflow_type, workflow_id, payload, claimed_until)
     select p.tenant_id, uuidv7(), ?, ?, ?, ?::jsonb, now() + make_interval(secs => case when exists (
         select from outbox earlier where earlier.tenant_id = p.tenant_id and earlier.workflow_id = ?
           and earlier.id not in (select jsonb_array_elements_text(?::jsonb)::uuid)) then 0 else ? end)
     from place p returning id, tenant_id, claimed_until > now() as leased`,
    [
      tenantId,
      kind,
      workflowType,
      workflowId,
      JSON.stringify(payload),
      workflowId,
      JSON.stringify(own.map(({ id }) => id)),
      leaseSecondsOf(em, message),
    ],
  );
  if (written === undefined) {
    throw new Error('The message was not written.');
  }
  const row: Dispatch = { ...message, id: written.id, tenantId: written.tenant_id };
  if (written.leased) {
    own.push(row);
  }
  return row;
}

/** Maps a start to its row, for SQL that writes it together with its change. */
export function toRow(message: StartMessage, tenantId: string): Dispatch {
  return { ...message, tenantId, id: newId() };
}

/** Lease of a new row, during which only the committing process sends it. 0: the next relay sends it. */
export function leaseSecondsOf(em: EntityManager, { kind, workflowType }: Message): number {
  const isOwn = kind !== 'start' || factsOf(workflowType).sender === 'process';
  return isOwn && ownRows(em) !== null ? firstLeaseSeconds : 0;
}

/** Registers rows that SQL has written for dispatch after the commit of their transaction. */
export function sendWithCommit(em: EntityManager, rows: readonly Dispatch[]): void {
  ownRows(em)?.push(...rows.filter((row) => leaseSecondsOf(em, row) > 0));
}

/**
 * Deletes a start that no process was given to send. If nothing else is pending, nothing is left to cancel. A row
 * with an expired lease may have been sent by a process that died before it could delete the row.
 */
async function deletePendingStart(em: EntityManager, { workflowId }: CancelMessage): Promise<boolean> {
  const unsent = await em.execute(
    `delete from outbox where workflow_id = ? and kind = 'start' and claimed_until <= created_at returning id`,
    [workflowId],
  );
  return unsent.length > 0 && !(await isPending(em, workflowId));
}

/** Whether Temporal has yet to acknowledge a message to the workflow. */
export async function isPending(em: EntityManager, workflowId: string): Promise<boolean> {
  const rows = await em.execute('select id from outbox where workflow_id = ? limit 1', [workflowId]);
  return rows.length > 0;
}

interface OutboxRow {
  tenant_id: string;
  id: string;
  kind: Dispatch['kind'];
  workflow_type: Dispatch['workflowType'];
  workflow_id: string;
  payload: Dispatch['payload'];
}

/** Leases due rows of all tenants for ten seconds, the first row of each workflow. */
export async function claimOutbox(database: Database, limit: number): Promise<Dispatch[]> {
  const rows = await database.call<OutboxRow>('claim_outbox', 'select * from app.claim_outbox($1)', [limit]);
  return rows.map(
    (row) =>
      ({
        tenantId: row.tenant_id,
        id: row.id,
        kind: row.kind,
        workflowType: row.workflow_type,
        workflowId: row.workflow_id,
        payload: row.payload,
      }) as Dispatch,
  );
}

export async function removeFromOutbox(database: Database, row: Dispatch): Promise<void> {
  await database.call('remove_outbox', 'select app.remove_outbox($1, $2)', [row.tenantId, row.id]);
}

/** Delays the row for `waitMs` milliseconds; a relay sends it then. */
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
