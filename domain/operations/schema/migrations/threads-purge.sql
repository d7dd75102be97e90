-- Threads that were deleted, whatever their tenant: what is purged next.
create function app.list_deleted_threads(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, thread_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select t.tenant_id, t.id from public.threads t
  where t.status = 'deleted' and (t.tenant_id, t.id) > (p_after_tenant, p_after_id)
  order by t.tenant_id, t.id limit p_limit
$$;
alter function app.list_deleted_threads(uuid, uuid, integer) owner to app_system;
revoke all on function app.list_deleted_threads(uuid, uuid, integer) from public;
grant execute on function app.list_deleted_threads(uuid, uuid, integer) to app_rt, app_purge;
