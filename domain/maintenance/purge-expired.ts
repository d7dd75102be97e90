import type { EntityManager } from '@mikro-orm/postgresql';
import { nilUuid } from '#domain/kernel/ids.ts';
import type { Database } from '#domain/persistence/database.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { settleLostCalls } from '#domain/responses/lost-calls.ts';
import { Response } from '#domain/responses/response.entity.ts';
import { purgeSignIns } from './purge-sign-ins.ts';
import { RowFailures } from './row-failures.ts';
import { sweep } from './sweep.ts';

/**
 * Removes the content of expired and deleted responses, and rows whose retention is over. Runs as the purge
 * role; each response is one transaction, so it may be interrupted and run again. Usage and events stay.
 */
export async function purgeExpired(
  database: Database,
  purge: UnitOfWork,
): Promise<{ purged: number; failed: number }> {
  const responses = await sweep<{ tenant_id: string; response_id: string }>(
    database,
    {
      door: 'list_expired',
      start: [nilUuid, ''],
      placeOf: (row) => [row.tenant_id, row.response_id],
    },
    (row) => purge.inTenant(row.tenant_id, (em) => purgeResponse(em, row.response_id)),
  );
  const failures = new RowFailures();
  const tenants = await database.call<{ tenant_id: string }>(
    'list_tenants_with_stale_rows',
    'select * from app.list_tenants_with_stale_rows()',
    [],
  );
  for (const { tenant_id: tenantId } of tenants) {
    await failures.collect(() => purge.inTenant(tenantId, purgeStaleRows));
  }
  await purgeSignIns(database, purge, failures);
  return { purged: responses.seen - responses.failed, failed: responses.failed + failures.count };
}

async function purgeResponse(em: EntityManager, responseId: string): Promise<void> {
  const response = await em.findOne(Response, { id: responseId });
  if (response !== null) {
    // The ledger goes, but not the news of a call that may have taken effect.
    await settleLostCalls(em, response);
  }
  const released = await em.execute<{ item_id: string }[]>(
    'delete from response_context where response_id = ? returning item_id',
    [responseId],
  );
  for (const table of ['stream_runs', 'tool_calls', 'turn_attempts', 'turns']) {
    await em.execute(`delete from ${table} where response_id = ?`, [responseId]);
  }
  await em.execute('delete from responses where id = ?', [responseId]);
  // An item lives as long as any response was given it, however long its own response is gone.
  await em.execute(
    `delete from items i
      where (i.response_id = ? or i.id in (select jsonb_array_elements_text(?::jsonb)))
        and not exists (select from responses r where r.tenant_id = i.tenant_id and r.id = i.response_id)
        and not exists (select from response_context c where c.tenant_id = i.tenant_id and c.item_id = i.id)`,
    [responseId, JSON.stringify(released.map((row) => row.item_id))],
  );
}

async function purgeStaleRows(em: EntityManager): Promise<void> {
  await em.execute(`delete from response_ids where expires_at < now() - interval '7 days'`);
  await em.execute('delete from idempotency_keys where expires_at < now()');
  await em.execute(`delete from event_dedupe where created_at < now() - interval '7 days'`);
}
