-- Sweeps: when each is due, and the rows that they process.

-- Claims the due sweeps for the caller alone, and returns how long until the next one is due.
create or replace function app.take_due_sweeps(p_names text[], p_every double precision[], out due text[], out wait_seconds double precision)
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  if exists (select unnest(p_names) except select name from app.sweeps) then
    insert into app.sweeps (name) select unnest(p_names) on conflict do nothing;
  end if;
  with plan as (select * from unnest(p_names, p_every) as p(name, every)),
  ripe as (
    select s.name from app.sweeps s join plan p on p.name = s.name
    where s.taken_at + make_interval(secs => p.every) <= clock_timestamp() for update of s skip locked),
  taken as (
    update app.sweeps s set taken_at = clock_timestamp() from ripe r where s.name = r.name returning s.name)
  select coalesce(array_agg(t.name), '{}') into due from taken t;
  select greatest(extract(epoch from min(s.taken_at + make_interval(secs => p.every)) - clock_timestamp()), 0) into wait_seconds
  from app.sweeps s join unnest(p_names, p_every) as p(name, every) on p.name = s.name;
end $$;

-- The oldest rows of a table from a time on, as one time range per tenant. Returns tenants and times only of tables
-- whose times app_system may read.
create or replace function app.list_aged_rows(p_table text, p_column text, p_kept interval, p_from timestamptz, p_limit integer)
returns table (tenant_id uuid, low timestamptz, high timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  return query execute format(
    'select r.tenant_id, min(r.at), max(r.at) from (
       select a.tenant_id, a.%1$I as at from public.%2$I a where a.%1$I >= $1 and a.%1$I < now() - $2
       order by a.%1$I limit $3) r group by 1', p_column, p_table) using p_from, p_kept, p_limit;
end $$;

create or replace function app.list_orphans(p_after_tenant uuid, p_after_id text, p_limit integer)
returns table (tenant_id uuid, first_id text, last_id text, orphans integer)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select i.tenant_id, min(i.id), max(i.id), count(*) filter (where
      not exists (select from public.responses r where r.tenant_id = i.tenant_id and r.id = i.response_id)
      and not exists (select from public.response_context c where c.tenant_id = i.tenant_id and c.item_id = i.id))::integer
  from (select n.tenant_id, n.id, n.response_id from public.items n where (n.tenant_id, n.id) > (p_after_tenant, p_after_id)
    order by n.tenant_id, n.id limit p_limit) i
  group by i.tenant_id order by i.tenant_id
$$;

-- The purge role claims no sweeps.
select pg_temp.secure_function('app.take_due_sweeps(text[],double precision[])', 'app_owner', '{app_rt}');
