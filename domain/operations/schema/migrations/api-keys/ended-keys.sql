-- For the sweep that deletes keys whose retention is over.
create index on api_keys (expires_at);
-- For the limit of a principal's keys, and for its deletion: it may have made and revoked any number.
create index api_keys_live on api_keys (tenant_id, principal_id, expires_at) where revoked_at is null;
-- For app.find_credential.
grant select (deleted_at) on principals to app_system;
