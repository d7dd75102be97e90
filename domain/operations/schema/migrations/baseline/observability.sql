-- Where a space has its responses traced to. The secret key is sealed under a key of the tenant.
create table observability_configs (
  tenant_id uuid not null references tenants,
  space_id uuid not null,
  public_key text not null,
  secret_key text not null,
  project_id jsonb,
  -- null: the deployment's
  base_url text,
  -- why the latest export did not arrive
  last_error text,
  updated_by uuid not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, space_id),
  foreign key (tenant_id, space_id) references spaces on delete cascade,
  foreign key (tenant_id, updated_by) references principals
);
create index on observability_configs (tenant_id, updated_by);
-- As its configuration says, where everything that begins a response reads it.
alter table spaces add column traced boolean not null default false;
