create trigger tell_key_change after delete or update of key_id, secret_hash, principal_id, permissions, expires_at, revoked_at
  on api_keys for each row execute function app.tell_key_change();
create trigger stale_names before update of name, email on principals
  for each row execute function app.drop_stale_names();
create trigger append_only before update or delete on events for each row execute function app.refuse_change();
create trigger append_only before update or delete on model_prices for each row execute function app.refuse_change();
