import type { Client } from 'pg';
import type { World } from '#test/support/world.ts';

/**
 * Keys of expired events, of all tenants in turn, by one statement: without indexes, which are built
 * afterwards, and without a check of each row's tenant.
 */
export async function addOldKeys(admin: Client, tenants: readonly World[], rows: number): Promise<void> {
  const { rows: indexes } = await admin.query<{ name: string; remade: string; primary: boolean }>(
    `select c.relname as name, i.indisprimary as primary,
       case when i.indisprimary then 'alter table event_dedupe add ' || pg_get_constraintdef(k.oid) else pg_get_indexdef(c.oid) end as remade
     from pg_index i join pg_class c on c.oid = i.indexrelid left join pg_constraint k on k.conindid = c.oid
     where i.indrelid = 'event_dedupe'::regclass`,
  );
  await admin.query(`set session_replication_role = replica; set maintenance_work_mem = '1GB'`);
  for (const { name, primary } of indexes)
    await admin.query(primary ? `alter table event_dedupe drop constraint ${name}` : `drop index ${name}`);
  await admin.query(
    `insert into event_dedupe (tenant_id, key, created_at)
     select ($1::uuid[])[1 + n % $2], n::text, now() - interval '30 days' + n * interval '10 milliseconds'
     from generate_series(1::bigint, $3) n`,
    [tenants.map(({ tenantId }) => tenantId), tenants.length, rows],
  );
  for (const { remade } of indexes) await admin.query(remade);
  await admin.query('reset session_replication_role');
  await admin.query('vacuum analyze event_dedupe');
}

/** Responses that have run for a minute, in the tenant's space. */
export async function addUnfinished(
  admin: Client,
  { tenantId, spaceId, owner }: World,
  responses: number,
): Promise<void> {
  const columns = 'tenant_id, id, space_id, principal_id, created_at, expires_at';
  await admin.query(
    `with made as (
       insert into responses (${columns}, status, model_id, model, model_alias, request, fingerprint, governance,
         started_at, deadline_at)
       select $1, 'resp_' || n, $2, $3, now() - interval '1 minute', now() + interval '1 day', 'in_progress', m.id, 'm', 'm',
         '{}', 'f', '{}', now(), now() + interval '1 hour'
       from generate_series(1, $4::integer) n, (select id from models where tenant_id = $1 limit 1) m
       returning ${columns})
     insert into response_ids (${columns}) select ${columns} from made`,
    [tenantId, spaceId, owner.principalId, responses],
  );
  await admin.query('vacuum analyze responses, response_ids');
}
