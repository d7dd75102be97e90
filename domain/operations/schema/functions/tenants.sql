-- Tenants.

-- Names and states of tenants for the platform's operators, newest first: ids of version 7 follow creation.
create or replace function app.list_tenants(p_before uuid, p_limit integer)
returns table (tenant_id uuid, slug text, name text, status text, is_platform boolean, created_at text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select t.tenant_id, t.slug, t.name, t.status, t.is_platform,
         to_char(t.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  from public.tenants t where p_before is null or t.tenant_id < p_before
  order by t.tenant_id desc limit p_limit
$$;
