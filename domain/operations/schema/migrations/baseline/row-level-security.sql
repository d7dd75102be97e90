-- Tenant isolation: every table with a column tenant_id, and what narrows the sight of two of them.
-- Content of a response is out of reach for the runtime role the moment it expires or is deleted (>= lets the deleting
-- transaction itself keep sight of its row, as it does the ending one). A response that has not ended stays in sight
-- with its events, so that it ends by what it said and lets others begin: code that reads or writes content looks at
-- its expiry.
select pg_temp.secure_tenant_table(c.oid, case c.relname
  when 'responses' then '(expires_at > now() or finished_at is null or finished_at >= date_trunc(''milliseconds'', now())) and (deleted_at is null or deleted_at >= now())'
  when 'stream_runs' then '(expires_at > now() or exists (select from responses r where r.tenant_id = stream_runs.tenant_id and r.id = stream_runs.response_id))'
  end)
from pg_class c join pg_namespace s on s.oid = c.relnamespace
where s.nspname = 'public' and c.relkind in ('r', 'p')
  and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id');

-- Append-only tables: the runtime role inserts and reads.
revoke update on data_keys, redactions from app_rt;
revoke update, delete on events, event_dedupe, model_prices, response_context, messages, thread_branches from app_rt;
revoke delete on responses, response_ids, items, usage_ledger, tenants, principals, threads, redactions, notifications from app_rt;

-- The sealing step works as app_purge: the runtime role reads the chain and its counts and writes neither.
revoke insert, update, delete on event_chains, event_seals, event_counts, event_resource_counts from app_rt;
-- The runtime role reaches them through their parent alone; the purge role takes from events_past what never had a month.
revoke all on events_past, events_future from app_rt;
revoke all on events_future from app_purge;
revoke insert, update on events_past from app_purge;

-- What cross-tenant functions may see, and nothing else.
select pg_temp.show_to_system('api_keys', 'tenant_id, id, key_id, secret_hash, principal_id, permissions, expires_at, revoked_at');
select pg_temp.show_to_system('tenants', 'tenant_id, slug, name, status, is_platform, created_at');
select pg_temp.show_to_system('responses', 'tenant_id, id, status, created_at, started_at, deadline_at, finished_at, expires_at, deleted_at, waits_for, queued_since');
select pg_temp.show_to_system('response_ids', 'tenant_id, id, expires_at');
select pg_temp.show_to_system('response_context', 'tenant_id, item_id');
select pg_temp.show_to_system('items', 'tenant_id, id, response_id');
select pg_temp.show_to_system('tool_calls', 'tenant_id, response_id, status');
select pg_temp.show_to_system('idempotency_keys', 'tenant_id, principal_id, expires_at');
select pg_temp.show_to_system('event_dedupe', 'tenant_id, created_at');
select pg_temp.show_to_system('events', 'tenant_id, id, transaction_id');
select pg_temp.show_to_system('event_chains', 'tenant_id, last_transaction_id, last_event_id, retained_from');
select pg_temp.show_to_system('principals', 'tenant_id, name, email, sealed_name, sealed_email');
select pg_temp.show_to_system('documents', 'tenant_id, id, status, created_at');
select pg_temp.show_to_system('threads', 'tenant_id, id, status');
select pg_temp.show_to_system('invites', 'tenant_id, id, status, expires_at');
select pg_temp.show_to_system('fan_outs', 'tenant_id, event_id, event_type, created_at');
select pg_temp.show_to_system('notifications', 'tenant_id, created_at');
select pg_temp.show_to_system('notified_periods', 'tenant_id, created_at');
select pg_temp.show_to_system('identity_providers', 'tenant_id, id, slug');
select pg_temp.show_to_system('login_transactions', 'tenant_id, id, state_hash, nonce_hash, handle_hash, expires_at');
select pg_temp.show_to_system('session_tokens', 'tenant_id, id, session_id, kind, token_hash, expires_at');
select pg_temp.show_to_system('sessions', 'tenant_id, id, principal_id, expires_at, ended_at');
select pg_temp.show_to_system('used_id_tokens', 'tenant_id, expires_at');
-- The outbox is claimed for all tenants.
create policy system on outbox to app_system using (true) with check (true);
grant select, update on outbox to app_system;
