-- Sources of documents; see domain/knowledge/connectors.
create table connectors (
  tenant_id uuid not null references tenants,
  id uuid not null,
  space_id uuid not null,
  collection_id uuid not null,
  provider_slug text not null check (provider_slug ~ '^[a-z0-9_]{1,32}$'),
  principal_id uuid not null,
  credential_id uuid,
  -- never a secret
  scope_config jsonb not null,
  status text not null default 'pending'
    check (status in ('pending', 'active', 'paused', 'auth_required', 'error', 'deleting')),
  status_reason text,
  sync_schedule jsonb,
  -- where a listing of changes begins
  checkpoint text,
  listing integer not null default 0,
  failed_runs integer not null default 0,
  failing_since timestamptz,
  last_synced_at timestamptz,
  stale_notified_at timestamptz,
  -- when its actor must have looked at it: earlier than now means that the actor is lost
  due_at timestamptz,
  retain_documents boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, collection_id) references collections on delete cascade,
  foreign key (tenant_id, principal_id) references principals,
  foreign key (tenant_id, credential_id) references credentials
);
create index on connectors (tenant_id, collection_id, created_at desc, id desc);
create index on connectors (tenant_id, space_id);
create index on connectors (tenant_id, principal_id);
create index on connectors (tenant_id, credential_id);

-- One run of a connector at a time, and one that is queued.
create table sync_runs (
  tenant_id uuid not null references tenants,
  id uuid not null,
  connector_id uuid not null,
  status text not null default 'queued'
    check (status in ('queued', 'running', 'completed', 'completed_with_errors', 'failed', 'cancelled')),
  trigger text not null check (trigger in ('initial', 'schedule', 'manual', 'webhook', 'config_change')),
  mode text not null check (mode in ('incremental', 'full')),
  confirm_deletions boolean not null default false,
  cancel_requested boolean not null default false,
  listing integer not null default 0,
  position text,
  pages integer not null default 0,
  is_listed boolean not null default false,
  is_truncated boolean not null default false,
  is_restarted boolean not null default false,
  lists_changes boolean not null default false,
  cursor_from text,
  cursor_to text,
  total integer,
  records_fetched integer not null default 0,
  added integer not null default 0,
  updated integer not null default 0,
  unchanged integer not null default 0,
  skipped integer not null default 0,
  failed integer not null default 0,
  deleted integer not null default 0,
  deletes_held integer not null default 0,
  bytes bigint not null default 0,
  rate_limited_ms bigint not null default 0,
  attempts integer not null default 0,
  errors jsonb not null default '[]',
  error_code text,
  error_text text,
  created_by uuid,
  started_at timestamptz,
  completed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, connector_id) references connectors on delete cascade,
  foreign key (tenant_id, created_by) references principals,
  check ((completed_at is not null) = (status not in ('queued', 'running')))
);
create unique index sync_runs_queued on sync_runs (tenant_id, connector_id) where status = 'queued';
create unique index sync_runs_running on sync_runs (tenant_id, connector_id) where status = 'running';
create index on sync_runs (tenant_id, connector_id, created_at desc, id desc);
create index on sync_runs (tenant_id, created_by);

-- What a connector knows of each document of its source.
create table source_documents (
  tenant_id uuid not null references tenants,
  id uuid not null,
  connector_id uuid not null,
  ref text not null check (octet_length(ref) between 1 and 2000),
  document_id uuid,
  name text not null,
  url text,
  version text,
  content_hash text,
  byte_size bigint,
  state text not null check (state in ('stored', 'skipped', 'failed')),
  error_code text,
  listing integer not null,
  is_gone boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  unique (tenant_id, connector_id, ref),
  foreign key (tenant_id, connector_id) references connectors on delete cascade,
  foreign key (tenant_id, document_id) references documents on delete set null (document_id)
);
create index on source_documents (tenant_id, connector_id, created_at desc, id desc);
create index source_documents_seen on source_documents (tenant_id, connector_id, listing, id);
create index source_documents_gone on source_documents (tenant_id, connector_id, id) where is_gone;
create index on source_documents (tenant_id, document_id);

-- Requests to one host for one tenant, over all workers.
create table source_hosts (
  tenant_id uuid not null references tenants,
  host text not null,
  -- the time at which the next request may be sent
  next_at timestamptz not null,
  primary key (tenant_id, host)
);

-- Who may read a document at its source: 'public', 'address:<address>', 'group:<connector>:<id>'; null: not known there.
alter table documents add column source_readers text[];
alter table collections add column enforce_source_readers boolean not null default false;
create table source_group_members (
  tenant_id uuid not null references tenants,
  connector_id uuid not null,
  group_id text not null,
  address text not null,
  listing integer not null,
  primary key (tenant_id, connector_id, group_id, address),
  foreign key (tenant_id, connector_id) references connectors on delete cascade
);
create index on source_group_members (tenant_id, address);

select pg_temp.secure_tenant_table('connectors');
select pg_temp.secure_tenant_table('sync_runs');
select pg_temp.secure_tenant_table('source_documents');
select pg_temp.secure_tenant_table('source_hosts');
select pg_temp.secure_tenant_table('source_group_members');
select pg_temp.show_to_system('connectors', 'tenant_id, id, due_at');
