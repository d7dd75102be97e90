-- Sealing of the event log, and the triggers that protect it.

-- Tenants with work for the sealing step: unsealed events or unsealed names. Not those that are being erased: their
-- chain would begin a second time, over the events that are left.
create or replace function app.list_unsealed() returns table (tenant_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select t.tenant_id from public.tenants t left join public.event_chains c on c.tenant_id = t.tenant_id
  where t.status not in ('deleting', 'deleted') and (
    exists (select from public.events e where e.tenant_id = t.tenant_id
      and (e.transaction_id, e.id) > (coalesce(c.last_transaction_id, '0'::xid8),
        coalesce(c.last_event_id, '00000000-0000-0000-0000-000000000000')))
    or exists (select from public.principals p where p.tenant_id = t.tenant_id
      and ((p.name is not null and p.sealed_name is null) or (p.email is not null and p.sealed_email is null))))
$$;

-- The last position in the log of any tenant; null while the log is empty.
create or replace function app.last_log_position() returns xid8
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select max(position) from (
    select c.last_transaction_id from public.event_chains c
    union all
    select e.transaction_id from public.tenants t cross join lateral (
      select e.transaction_id from public.events e where e.tenant_id = t.tenant_id
      order by e.transaction_id desc, e.id desc limit 1) e) as known (position)
$$;

-- Backlog of sealing: number of unsealed events, and the age of the oldest.
create or replace function app.sealing_lag() returns table (events bigint, oldest_seconds double precision)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select coalesce(sum(l.n), 0)::bigint, coalesce(extract(epoch from clock_timestamp() - min(l.oldest)), 0)::double precision
  from public.tenants t left join public.event_chains c on c.tenant_id = t.tenant_id
  cross join lateral (
    select count(*) as n, min(uuid_extract_timestamp(u.id)) as oldest from (
      select e.id from public.events e where e.tenant_id = t.tenant_id
        and (e.transaction_id, e.id) > (coalesce(c.last_transaction_id, '0'::xid8),
          coalesce(c.last_event_id, '00000000-0000-0000-0000-000000000000'))
      order by e.transaction_id, e.id limit 10000) u) l
$$;

-- Tenants that have, or may have, something of their log left that is older than p_before.
create or replace function app.list_event_tenants(p_before timestamptz) returns table (tenant_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select c.tenant_id from public.event_chains c where c.cleared_to < p_before
$$;

-- Tenants with a chain, in the order of their ids.
create or replace function app.list_chains(p_after uuid, p_limit integer) returns table (tenant_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select c.tenant_id from public.event_chains c where c.tenant_id > p_after order by c.tenant_id limit p_limit
$$;

-- A changed name or address invalidates its sealed form.
create or replace function app.drop_stale_names() returns trigger language plpgsql as $$
begin
  if new.name is distinct from old.name and new.sealed_name is not distinct from old.sealed_name then
    new.sealed_name := null;
  end if;
  if new.email is distinct from old.email and new.sealed_email is not distinct from old.sealed_email then
    new.sealed_email := null;
  end if;
  return new;
end $$;

create or replace function app.refuse_change() returns trigger language plpgsql as $$
begin
  if current_user = 'app_purge' and tg_op = 'DELETE' then
    return old;
  end if;
  raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end $$;
