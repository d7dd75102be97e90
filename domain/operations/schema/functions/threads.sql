-- Threads.

-- Deleted threads of all tenants, which are purged next; those of a person that is being erased go with the person.
create or replace function app.list_deleted_threads(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, thread_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select t.tenant_id, t.id from public.threads t
  where t.status = 'deleted' and (t.tenant_id, t.id) > (p_after_tenant, p_after_id)
    and not exists (select from public.erasures e where e.tenant_id = t.tenant_id and e.root_type = 'principal'
      and e.root_id = t.created_by and e.ended_at is null)
  order by t.tenant_id, t.id limit p_limit
$$;
