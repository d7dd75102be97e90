-- Fan-outs old enough that their workflow must exist, by keyset.
create function app.list_unfinished_fan_outs(p_after_created timestamptz, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, event_id uuid, created_at text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select f.tenant_id, f.event_id, to_char(f.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
  from public.fan_outs f
  where f.created_at < now() - interval '30 seconds' and (f.created_at, f.event_id) > (p_after_created, p_after_id)
  order by f.created_at, f.event_id limit p_limit
$$;

-- What the doors of notifications may see: ids and times.
do $$
declare
  f text;
begin
  foreach f in array array['list_unfinished_fan_outs(timestamptz,uuid,integer)'] loop
    execute format('alter function app.%s owner to app_system', f);
    execute format('revoke all on function app.%s from public', f);
    execute format('grant execute on function app.%s to app_rt, app_purge', f);
  end loop;
end $$;
create policy system on fan_outs for select to app_system using (true);
create policy system on notifications for select to app_system using (true);
create policy system on notified_periods for select to app_system using (true);
grant select (tenant_id, event_id, event_type, created_at) on fan_outs to app_system;
grant select (tenant_id, created_at) on notifications, notified_periods to app_system;
revoke delete on notifications from app_rt;
