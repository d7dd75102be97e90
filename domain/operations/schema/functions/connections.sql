-- Connections to tool servers.

-- The popup has no tenant: it is found by the keyed hash of what its address carries.
create or replace function app.find_authorization_attempt(p_kind text, p_hash text)
returns table (tenant_id uuid, id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select a.tenant_id, a.id from public.authorization_attempts a where p_kind = 'nonce' and a.nonce_hash = p_hash
  union all
  select a.tenant_id, a.id from public.authorization_attempts a where p_kind = 'state' and a.state_hash = p_hash
$$;

-- Attempts that were not completed in time.
create or replace function app.list_due_attempts(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, attempt_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select a.tenant_id, a.id from public.authorization_attempts a
  where a.stage <> 'ended' and a.expires_at <= now() and (a.tenant_id, a.id) > (p_after_tenant, p_after_id)
  order by a.tenant_id, a.id limit p_limit
$$;

-- Connections whose tokens are to be revoked: withdrawn ones, and those whose server, mode or person is gone.
create or replace function app.list_ended_connections(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, connection_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select c.tenant_id, c.id
  from public.mcp_connections c
    left join public.mcp_servers s on s.tenant_id = c.tenant_id and s.id = c.server_id
    left join public.principals p on p.tenant_id = c.tenant_id and p.id = c.owner_id
  where (c.revoke_at <= now()
      or c.withdrawn_at is null
        and (s.id is null or s.connection_mode <> case when c.owner_id is null then 'shared' else 'personal' end
          or p.status <> 'active'))
    and (c.tenant_id, c.id) > (p_after_tenant, p_after_id)
  order by c.tenant_id, c.id limit p_limit
$$;
