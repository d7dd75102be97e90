-- Secrets that a tenant keeps here, each for one origin. The value is sealed under a key of the tenant.
create table credentials (
  tenant_id uuid not null references tenants,
  id uuid not null,
  -- null: usable in every space of the tenant
  space_id uuid,
  -- the person it is used for; null: for everybody who may use what refers to it
  owner_id uuid,
  name text not null,
  kind text not null check (kind in ('bearer', 'header', 'basic', 'oauth2_client', 'access_key')),
  -- scheme, host and port; it is sent nowhere else
  origin text not null,
  header_name text,
  sealed_value text not null,
  -- counts the values that it has had
  version integer not null default 1,
  created_by uuid not null,
  last_used_at timestamptz,
  rotated_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  unique nulls not distinct (tenant_id, space_id, owner_id, name),
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, owner_id) references principals,
  foreign key (tenant_id, created_by) references principals,
  check ((kind = 'header') = (header_name is not null))
);
create index on credentials (tenant_id, space_id, created_at desc, id desc);
create index on credentials (tenant_id, owner_id);
create index on credentials (tenant_id, created_by);

alter table mcp_servers
  add column credential_id uuid,
  add foreign key (tenant_id, credential_id) references credentials,
  add check (credential_id is null or credential_ref is null);
create index on mcp_servers (tenant_id, credential_id);
alter table models
  add column credential_id uuid,
  add foreign key (tenant_id, credential_id) references credentials,
  add check (credential_id is null or credential_ref is null);
create index on models (tenant_id, credential_id);

select pg_temp.secure_tenant_table('credentials');
