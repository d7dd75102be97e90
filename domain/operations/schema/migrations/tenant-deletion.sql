-- Deletions of tenants; see domain/operations/tenant-deletion. A row outlives its tenant, so the tenant's id is in a
-- column of another name than in the tables that are erased, and refers to nothing.
create table tenant_deletions (
  id uuid primary key,
  subject_id uuid not null,
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
  histories_deleted integer not null default 0,
  -- step and reason, while it cannot go on
  failure jsonb,
  updated_at timestamptz not null default now(),
  check ((status in ('deleted', 'cancelled')) = (ended_at is not null))
);
create unique index tenant_deletions_open on tenant_deletions (subject_id)
  where status in ('deletion_scheduled', 'deleting');
create index on tenant_deletions (subject_id, requested_at desc);

alter table tenant_deletions owner to app_owner;
alter table tenant_deletions enable row level security;
alter table tenant_deletions force row level security;
create policy runtime on tenant_deletions to app_rt
  using (subject_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (subject_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
create policy purge on tenant_deletions to app_purge
  using (subject_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (subject_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
grant select, insert, update on tenant_deletions to app_rt;
grant select, update on tenant_deletions to app_purge;
select pg_temp.show_to_system('tenant_deletions', 'id, subject_id, status, updated_at');

-- Its body comes from ../functions/, in the same transaction as this migration.
create function app.drop_messages_of_deleted() returns trigger language plpgsql as 'begin return new; end';
create trigger drop_messages_of_deleted before insert on outbox
  for each row execute function app.drop_messages_of_deleted();
