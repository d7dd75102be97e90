-- All sessions of a provider that began before this time have ended: one row says so, however many they are.
alter table identity_providers
  add column sessions_ended_at timestamptz,
  add column sessions_end_reason text check (sessions_end_reason in ('provider_disabled', 'provider_changed')),
  add check ((sessions_ended_at is null) = (sessions_end_reason is null));
grant select (sessions_ended_at) on identity_providers to app_system;
grant select (provider_id, created_at) on sessions to app_system;

-- superseded: the principal began one more than it may have.
alter table sessions drop constraint sessions_end_reason_check, add constraint sessions_end_reason_check
  check (end_reason in ('logout', 'revoked', 'reuse', 'superseded', 'provider_disabled', 'provider_changed', 'principal_deleted'));
-- For the limit of a principal's sessions, whatever number of them has ended.
create index sessions_live on sessions (tenant_id, principal_id, expires_at) where ended_at is null;
-- For the number of sessions that end with their provider.
create index sessions_of_provider on sessions (tenant_id, provider_id, created_at) where ended_at is null;

-- For the sweep that deletes what has ended.
create index on sessions (ended_at) where ended_at is not null;
create index on api_keys (revoked_at) where revoked_at is not null;
grant select (revoked_at) on api_keys to app_system;
