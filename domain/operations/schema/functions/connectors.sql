-- Connectors that their actor should have looked at by now: a message was lost, or an operator has ended the actor.
create or replace function app.list_overdue_connectors(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, connector_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select c.tenant_id, c.id from public.connectors c
  where c.due_at < now() and (c.tenant_id, c.id) > (p_after_tenant, p_after_id)
  order by c.tenant_id, c.id limit p_limit
$$;
