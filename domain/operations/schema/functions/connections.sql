-- Connections to tool servers and sources.

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

-- Connections whose tokens are to be revoked: withdrawn ones, and those whose server, mode or person is gone; of each
-- tenant a few at once. Each part begins at the rows that have changed: most connections are read by none.
create or replace function app.list_ended_connections(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, connection_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  with ended as (
    select c.tenant_id, c.id from public.mcp_connections c where c.revoke_at <= now()
    union
    select c.tenant_id, c.id from public.mcp_connections c where c.server_id is null and c.connector_id is null and c.withdrawn_at is null
    union
    select c.tenant_id, c.id
    from public.principals p join public.mcp_connections c on c.tenant_id = p.tenant_id and c.owner_id = p.id
    where p.status <> 'active' and c.withdrawn_at is null
    union
    select c.tenant_id, c.id
    from public.mcp_servers s join public.mcp_connections c on c.tenant_id = s.tenant_id and c.server_id = s.id
    where s.connection_mode = 'none' and c.withdrawn_at is null
    union
    select c.tenant_id, c.id
    from public.mcp_servers s join public.mcp_connections c on c.tenant_id = s.tenant_id and c.server_id = s.id
    where s.connection_mode = 'personal' and c.owner_id is null and c.withdrawn_at is null
    union
    select c.tenant_id, c.id
    from public.mcp_servers s join public.mcp_connections c on c.tenant_id = s.tenant_id and c.server_id = s.id
    where s.connection_mode = 'shared' and c.owner_id is not null and c.withdrawn_at is null
  ), placed as (
    select e.tenant_id, e.id, row_number() over (partition by e.tenant_id order by e.id) as place
    from ended e where (e.tenant_id, e.id) > (p_after_tenant, p_after_id)
  )
  select p.tenant_id, p.id from placed p where p.place <= 20 order by p.tenant_id, p.id limit p_limit
$$;
