-- Invites.

-- Pending invites that have expired.
create or replace function app.list_due_invites(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, invite_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select i.tenant_id, i.id from public.invites i
  where i.status = 'pending' and i.expires_at <= now() and (i.tenant_id, i.id) > (p_after_tenant, p_after_id)
  order by i.tenant_id, i.id limit p_limit
$$;
