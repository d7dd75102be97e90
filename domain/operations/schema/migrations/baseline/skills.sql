-- Skills: instructions for the model and what of the connected servers it is offered, in numbered versions.
create table skills (
  tenant_id uuid not null references tenants,
  id uuid not null,
  name text not null,
  description text,
  status text not null default 'disabled' check (status in ('active', 'disabled', 'archived')),
  -- the highest published version
  current_version_id uuid,
  -- the number that was given out last
  latest_version integer not null default 0,
  created_by uuid not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  unique (tenant_id, name),
  check (status <> 'active' or current_version_id is not null),
  foreign key (tenant_id, created_by) references principals
);
create index on skills (tenant_id, created_at desc, id desc);
create index on skills (tenant_id, created_by);

create table skill_versions (
  tenant_id uuid not null references tenants,
  id uuid not null,
  skill_id uuid not null,
  -- given at publication
  version integer check (version > 0),
  status text not null default 'draft' check (status in ('draft', 'published', 'deprecated')),
  instructions text not null,
  allowed_tools jsonb not null default '[]',
  -- of instructions and allowed_tools, as they were published
  content_hash text,
  notes text,
  created_by uuid not null,
  created_at timestamptz not null default now(),
  published_at timestamptz,
  deprecated_at timestamptz,
  deprecated_by uuid,
  primary key (tenant_id, id),
  unique (tenant_id, skill_id, version),
  check ((status = 'draft') = (version is null)),
  check ((status = 'draft') = (content_hash is null)),
  check ((status = 'deprecated') = (deprecated_at is not null)),
  foreign key (tenant_id, skill_id) references skills on delete cascade,
  foreign key (tenant_id, created_by) references principals,
  foreign key (tenant_id, deprecated_by) references principals
);
create index on skill_versions (tenant_id, skill_id, created_at desc, id desc);
create index on skill_versions (tenant_id, created_by);
create index on skill_versions (tenant_id, deprecated_by);
alter table skills add foreign key (tenant_id, current_version_id) references skill_versions;
create index on skills (tenant_id, current_version_id);

-- Who has asked with a skill, to the hour: whoever deprecates a version has them told.
create table skill_uses (
  tenant_id uuid not null references tenants,
  skill_id uuid not null,
  principal_id uuid not null,
  last_used_at timestamptz not null default now(),
  primary key (tenant_id, skill_id, principal_id),
  foreign key (tenant_id, skill_id) references skills on delete cascade,
  foreign key (tenant_id, principal_id) references principals
);
create index on skill_uses (tenant_id, principal_id);
