-- The tenancy wall. app_owner owns and never logs in, app_rt serves, app_purge deletes,
-- app_system owns the few functions that look across tenants.
do $$
declare
  t text;
  mine constant text := $p$tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid$p$;
begin
  for t in
    select c.relname from pg_class c join pg_namespace s on s.oid = c.relnamespace
    where s.nspname = 'public' and c.relkind in ('r', 'p')
      and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id')
  loop
    execute format('alter table %I owner to app_owner', t);
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    -- Content of a response is out of reach for the runtime role the moment it expires or is deleted
    -- (>= lets the deleting transaction itself keep sight of its row, as it does the ending one). One that has not
    -- ended stays in sight with its events, so that it ends by what it said and lets others begin: whoever reads or
    -- writes content looks at its expiry.
    execute format('create policy runtime on %I to app_rt using (%s) with check (%s)', t,
      mine || case t when 'responses' then ' and (expires_at > now() or finished_at is null or finished_at >= date_trunc(''milliseconds'', now())) and (deleted_at is null or deleted_at >= now())'
                     when 'stream_runs' then ' and (expires_at > now() or exists (select from responses r where r.tenant_id = stream_runs.tenant_id and r.id = stream_runs.response_id))' else '' end,
      mine);
    execute format('create policy purge on %I to app_purge using (%s) with check (%s)', t, mine, mine);
    execute format('grant select, insert, update, delete on %I to app_rt, app_purge', t);
  end loop;
end $$;

-- Append-only tables: the runtime role inserts and reads.
revoke update on data_keys, redactions from app_rt;
revoke update, delete on events, event_dedupe, model_prices, response_context, messages, thread_branches from app_rt;
revoke delete on responses, response_ids, items, usage_ledger, tenants, principals, threads, redactions from app_rt;

create function app.refuse_change() returns trigger language plpgsql as $$
begin
  if current_user = 'app_purge' and tg_op = 'DELETE' then
    return old;
  end if;
  raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end $$;
create trigger append_only before update or delete on events for each row execute function app.refuse_change();
create trigger append_only before update or delete on model_prices for each row execute function app.refuse_change();

-- What the functions of app_system may see, and nothing else.
create policy system on api_keys for select to app_system using (true);
create policy system on tenants for select to app_system using (true);
create policy system on outbox to app_system using (true) with check (true);
create policy system on responses for select to app_system using (true);
create policy system on response_ids for select to app_system using (true);
create policy system on idempotency_keys for select to app_system using (true);
create policy system on event_dedupe for select to app_system using (true);
create policy system on documents for select to app_system using (true);
create policy system on tool_calls for select to app_system using (true);
create policy system on threads for select to app_system using (true);
grant select (tenant_id, id, key_id, secret_hash, principal_id, permissions, expires_at, revoked_at) on api_keys to app_system;
grant select (tenant_id, slug, name, status, is_platform, created_at) on tenants to app_system;
grant select, update on outbox to app_system;
grant select (tenant_id, id, status, created_at, started_at, deadline_at, finished_at, expires_at, deleted_at, waits_for, queued_since) on responses to app_system;
grant select (tenant_id, id, expires_at) on response_ids to app_system;
grant select (tenant_id, principal_id, expires_at) on idempotency_keys to app_system;
grant select (tenant_id, created_at) on event_dedupe to app_system;
grant select (tenant_id, id, status, created_at) on documents to app_system;
grant select (tenant_id, response_id, status) on tool_calls to app_system;
grant select (tenant_id, id, status) on threads to app_system;
