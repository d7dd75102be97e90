-- Processes remember for some seconds whose a key is. Whoever changes one, they are told.
create function app.tell_key_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('access', old.tenant_id::text);
  return null;
end $$;
create trigger tell_key_change after delete or update of key_id, secret_hash, principal_id, permissions, expires_at, revoked_at
  on api_keys for each row execute function app.tell_key_change();
