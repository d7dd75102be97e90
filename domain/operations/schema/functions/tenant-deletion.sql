-- Deletions of tenants.

-- The tenant of a deletion, for the holder of its token, who has no tenant any more.
create or replace function app.find_deletion(p_id uuid) returns table (tenant_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select d.tenant_id from app.tenant_deletions d where d.id = p_id
$$;

-- Deletions that have not ended; their workflows are compared with Temporal.
create or replace function app.list_open_deletions(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, deletion_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select d.tenant_id, d.id from app.tenant_deletions d
  where d.status in ('deletion_scheduled', 'deleting') and (d.tenant_id, d.id) > (p_after_tenant, p_after_id)
  order by d.tenant_id, d.id limit p_limit
$$;

-- No work begins for a tenant that is being erased. The lock makes the insert and the beginning of the erasure exclude
-- each other: either the message is committed before and its work is stopped, or it is dropped.
create or replace function app.drop_messages_of_deleted() returns trigger language plpgsql as $$
declare
  v_status text;
begin
  select t.status into v_status from tenants t where t.tenant_id = new.tenant_id for key share;
  return case when v_status in ('deleting', 'deleted') then null else new end;
end $$;

-- Waits for transactions that have written rows of the tenant, keeps new ones from writing any, and begins the erasure.
-- Rows that are written later meet a tenant that is being erased, or none.
create or replace function app.begin_deleting(p_tenant uuid) returns boolean language plpgsql as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  perform from tenants t where t.tenant_id = p_tenant for update;
  update tenants t set status = 'deleting' where t.tenant_id = p_tenant and t.status = 'deletion_scheduled';
  return found;
end $$;

-- A row of the log refers to nothing, so it is written under the lock that a reference would take.
create or replace function app.require_tenant(p_tenant uuid) returns void language plpgsql as $$
begin
  perform from tenants t where t.tenant_id = p_tenant for key share;
  if not found then
    raise foreign_key_violation using message = 'The tenant is gone.', constraint = 'events_tenant_id_fkey';
  end if;
end $$;

-- What a deletion has erased, in the transaction of the batch: the certificate counts what was committed, once.
create or replace function app.note_erased(p_tenant uuid, p_deletion uuid, p_table text, p_rows bigint) returns void
language plpgsql as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  update app.tenant_deletions d set table_name = p_table, failure = null, rows_done = d.rows_done + p_rows,
    erased = d.erased || jsonb_build_object(p_table, coalesce((d.erased ->> p_table)::bigint, 0) + p_rows),
    updated_at = now()
  where d.tenant_id = p_tenant and d.id = p_deletion and d.status = 'deleting';
  if not found then
    raise no_data_found using message = 'No deletion of the tenant is under way.';
  end if;
end $$;
