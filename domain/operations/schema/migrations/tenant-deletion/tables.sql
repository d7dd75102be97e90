-- Deletions of tenants; see domain/operations/tenant-deletion. A row outlives its tenant, so it refers to nothing and
-- lies in the platform's own schema, whose rows no erasure deletes.
create table app.tenant_deletions (
  tenant_id uuid not null,
  id uuid not null,
  status text not null check (status in ('deletion_scheduled', 'deleting', 'deleted', 'cancelled')),
  reason_code text not null check (reason_code ~ '^[a-z0-9_.-]{1,64}$'),
  -- of the tenant before the request; a cancelled deletion restores it
  prior_status text not null check (prior_status in ('active', 'suspended')),
  requested_by uuid not null,
  requested_at timestamptz not null default now(),
  purge_after timestamptz not null,
  -- when the owners were notified that it is near
  warned_at timestamptz,
  started_at timestamptz,
  ended_at timestamptz,
  -- keyed hash of the token that reads the certificate
  token_hash text not null,
  step text not null default 'scheduled',
  table_name text,
  rows_done bigint not null default 0,
  rows_counted bigint,
  -- rows of each table when the erasure began, and rows that it erased
  counted jsonb,
  erased jsonb not null default '{}',
  -- what was withdrawn outside of the platform, each with its outcome
  revocations jsonb not null default '[]',
  key_ids jsonb not null default '[]',
  key_destroyed_at timestamptz,
  -- bytes of each store, and the end of the log, before the erasure
  bytes jsonb,
  event_chain jsonb,
  -- ids that rows of the tenant had, which nothing shared may mention any more
  sampled_ids jsonb not null default '[]',
  -- what the verifier found
  proof jsonb,
  histories_deleted integer not null default 0,
  -- step and reason, while it cannot go on
  failure jsonb,
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  check ((status in ('deleted', 'cancelled')) = (ended_at is not null))
);
create unique index tenant_deletions_open on app.tenant_deletions (tenant_id)
  where status in ('deletion_scheduled', 'deleting');
create unique index on app.tenant_deletions (id);
create index on app.tenant_deletions (tenant_id, requested_at desc);
select pg_temp.secure_tenant_table('app.tenant_deletions');
revoke delete on app.tenant_deletions from app_rt, app_purge;
revoke insert on app.tenant_deletions from app_purge;
select pg_temp.show_to_system('app.tenant_deletions', 'tenant_id, id, status');

-- Its body comes from ../../functions/, in the same transaction as this migration.
create function app.drop_messages_of_deleted() returns trigger language plpgsql as 'begin return new; end';
create trigger drop_messages_of_deleted before insert on outbox
  for each row execute function app.drop_messages_of_deleted();
