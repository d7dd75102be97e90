-- Notifications.

-- Fan-outs old enough that their workflow must exist, by keyset.
create or replace function app.list_unfinished_fan_outs(p_after_created timestamptz, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, event_id uuid, created_at text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select f.tenant_id, f.event_id, to_char(f.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
  from public.fan_outs f
  where f.created_at < now() - interval '30 seconds' and (f.created_at, f.event_id) > (p_after_created, p_after_id)
  order by f.created_at, f.event_id limit p_limit
$$;
