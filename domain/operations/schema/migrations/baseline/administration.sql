-- Projects, their members, and invites into a space.

-- A deleted principal stays as a row without a name, because rows and events go on naming its id.
alter table principals add column deleted_at timestamptz;
alter table principals add check (deleted_at is null or status = 'disabled');

alter table space_members add column id uuid not null default gen_random_uuid();
create unique index space_members_id on space_members (tenant_id, id);
create index on space_members (tenant_id, space_id, created_at desc, id desc);
-- Who holds a role: asked before a role is deleted.
create index on space_members (tenant_id, role_key);
create index on role_assignments (tenant_id, role_key);
create index on roles (tenant_id, created_at desc, id desc);

create table projects (
  tenant_id uuid not null references tenants,
  id uuid not null,
  space_id uuid not null,
  name text not null,
  description text,
  created_by uuid not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  -- what belongs to a project refers to it together with its space
  unique (tenant_id, space_id, id),
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, created_by) references principals
);
create index on projects (tenant_id, space_id, created_at desc, id desc);
create index on projects (tenant_id, created_by);

-- Members of a project are members of its space: whoever leaves the space leaves its projects.
create table project_members (
  tenant_id uuid not null references tenants,
  id uuid not null,
  space_id uuid not null,
  project_id uuid not null,
  principal_id uuid not null,
  role_key text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  unique (tenant_id, project_id, principal_id),
  foreign key (tenant_id, space_id, project_id) references projects (tenant_id, space_id, id) on delete cascade,
  foreign key (tenant_id, space_id, principal_id) references space_members on delete cascade
);
create index on project_members (tenant_id, space_id, project_id, created_at desc, id desc);
create index on project_members (tenant_id, space_id, principal_id);
create index on project_members (tenant_id, role_key);

create table invites (
  tenant_id uuid not null references tenants,
  id uuid not null,
  space_id uuid not null,
  -- goes with the principal that had it
  email text,
  role_key text not null,
  status text not null default 'pending' check (status in ('pending', 'accepted', 'declined', 'revoked', 'expired')),
  invited_by uuid not null,
  -- who accepted, declined or revoked it
  answered_by uuid,
  answered_at timestamptz,
  expires_at timestamptz not null default now() + interval '7 days',
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, invited_by) references principals,
  foreign key (tenant_id, answered_by) references principals,
  check ((status in ('accepted', 'declined', 'revoked')) = (answered_by is not null)),
  check ((answered_by is null) = (answered_at is null)),
  check (status <> 'pending' or email is not null)
);
create unique index invites_pending on invites (tenant_id, space_id, lower(email)) where status = 'pending';
create index on invites (tenant_id, space_id, created_at desc, id desc);
-- Read by requests for the invites to an address. Those of a tenant are few, and row-level security keeps an address out of an index.
create index invites_standing on invites (tenant_id, created_at desc, id desc) where status = 'pending';
create index on invites (tenant_id, invited_by);
create index on invites (tenant_id, answered_by);
create index on invites (tenant_id, role_key) where status = 'pending';
create index invites_due on invites (expires_at) where status = 'pending';
