-- API keys.

-- Cross-tenant: returns ids and the credential's hash only. Always returns one row: an unknown key id gets a
-- placeholder row of the same size, which matches no secret and is not usable, so that response times do not reveal
-- which ids exist. A key ends with its principal and with its tenant: they may have more keys than one statement of their
-- deletion could revoke.
create or replace function app.find_credential(p_key_id text)
returns table (tenant_id uuid, id uuid, principal_id uuid, secret_hash text, permissions text[], usable boolean, expires_in_ms double precision)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select coalesce(k.tenant_id, s.id), coalesce(k.id, s.id), coalesce(k.principal_id, s.id),
         coalesce(k.secret_hash, s.secret_hash), k.permissions,
         k.revoked_at is null and coalesce(k.expires_at, s.expires_at) > now()
           and t.status is distinct from 'deleting' and p.deleted_at is null,
         extract(epoch from coalesce(k.expires_at, s.expires_at) - now()) * 1000
  from (values ('00000000-0000-0000-0000-000000000000'::uuid, repeat('-', 43), '2000-01-01'::timestamptz)) s (id, secret_hash, expires_at)
  left join public.api_keys k on k.key_id = p_key_id
  left join public.tenants t on t.tenant_id = coalesce(k.tenant_id, s.id)
  left join public.principals p on p.tenant_id = coalesce(k.tenant_id, s.id) and p.id = coalesce(k.principal_id, s.id)
$$;

-- Written at most once a minute per key, whatever the number of gateways.
create or replace function app.note_key_use(p_tenant uuid, p_key uuid) returns void language plpgsql as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  update api_keys set last_used_at = now()
    where tenant_id = p_tenant and id = p_key
      and (last_used_at is null or last_used_at <= now() - interval '1 minute');
end $$;

-- Processes cache the principal of a key for some seconds; a change of the key notifies them.
create or replace function app.tell_key_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('access', old.tenant_id::text);
  return null;
end $$;
