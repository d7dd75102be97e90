-- Sign-in: the caller has no tenant yet. Returns ids only, by the keyed hash of the presented value.

create or replace function app.find_login_transaction(p_kind text, p_hash text) returns table (tenant_id uuid, id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select t.tenant_id, t.id from public.login_transactions t where p_kind = 'state' and t.state_hash = p_hash
  union all
  select t.tenant_id, t.id from public.login_transactions t where p_kind = 'nonce' and t.nonce_hash = p_hash
  union all
  select t.tenant_id, t.id from public.login_transactions t where p_kind = 'handle' and t.handle_hash = p_hash
$$;

-- Of gateways of the version before: app.find_login_provider replaces it.
create or replace function app.find_identity_provider(p_tenant uuid, p_id uuid, p_slug text) returns table (tenant_id uuid, id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select i.tenant_id, i.id from public.identity_providers i
  where i.id = p_id and (p_tenant is null or i.tenant_id = p_tenant)
  union
  select i.tenant_id, i.id from public.identity_providers i
  where i.slug = p_slug and (p_tenant is null or i.tenant_id = p_tenant)
  limit 2
$$;

-- Providers with this id or slug, in the tenant with the given id or slug or in any; two that are open mean that the tenant
-- must be named. A disabled provider, or one of a tenant that is not active, is found where no other is.
create or replace function app.find_login_provider(p_tenant uuid, p_tenant_slug text, p_id uuid, p_slug text)
returns table (tenant_id uuid, id uuid, open boolean)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select i.tenant_id, i.id, i.status = 'active' and t.status = 'active' as open
  from public.identity_providers i join public.tenants t on t.tenant_id = i.tenant_id
  where (i.id = p_id or i.slug = p_slug)
    and (p_tenant is null or i.tenant_id = p_tenant) and (p_tenant_slug is null or t.slug = p_tenant_slug)
  order by open desc
  limit 2
$$;

-- A session ends with its principal and its tenant, as a key does, and with what ends all sessions of its provider.
create or replace function app.find_token(p_hash text)
returns table (tenant_id uuid, id uuid, session_id uuid, principal_id uuid, kind text, expired boolean, ended boolean)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select k.tenant_id, k.id, k.session_id, s.principal_id, k.kind,
         k.expires_at <= now() or s.expires_at <= now(),
         s.ended_at is not null or t.status = 'deleting' or w.deleted_at is not null
           or coalesce(p.sessions_ended_at >= s.created_at, false)
  from public.session_tokens k join public.sessions s on s.tenant_id = k.tenant_id and s.id = k.session_id
  join public.identity_providers p on p.tenant_id = s.tenant_id and p.id = s.provider_id
  join public.principals w on w.tenant_id = s.tenant_id and w.id = s.principal_id
  join public.tenants t on t.tenant_id = k.tenant_id
  where k.token_hash = p_hash
$$;

-- Whether a session has neither ended, also with its principal, provider or tenant, nor expired, whatever became of its
-- tokens: what was begun with an access token goes on when that expires.
create or replace function app.is_session_open(p_tenant uuid, p_session uuid) returns boolean
language plpgsql stable as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  return exists (select from sessions s join tenants t on t.tenant_id = s.tenant_id
    join identity_providers p on p.tenant_id = s.tenant_id and p.id = s.provider_id
    join principals w on w.tenant_id = s.tenant_id and w.id = s.principal_id
    where s.tenant_id = p_tenant and s.id = p_session and s.ended_at is null and s.expires_at > now()
      and t.status <> 'deleting' and w.deleted_at is null and coalesce(p.sessions_ended_at < s.created_at, true));
end $$;
