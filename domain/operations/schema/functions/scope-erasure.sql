-- Deletions of parts of tenants.

-- Erasures that have not ended; their workflows are compared with Temporal.
create or replace function app.list_open_erasures(p_after_tenant uuid, p_after_root uuid, p_limit integer)
returns table (tenant_id uuid, root_type text, root_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select e.tenant_id, e.root_type, e.root_id from public.erasures e
  where e.ended_at is null and (e.tenant_id, e.root_id) > (p_after_tenant, p_after_root)
  order by e.tenant_id, e.root_id limit p_limit
$$;
