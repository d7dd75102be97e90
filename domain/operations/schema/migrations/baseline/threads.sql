-- Conversations of a space. Messages stand in branches; a branch begins at a message of another one.
create table threads (
  tenant_id uuid not null references tenants,
  id uuid not null,
  space_id uuid not null,
  project_id uuid,
  created_by uuid not null,
  title text,
  status text not null default 'active' check (status in ('active', 'archived', 'deleted')),
  -- the place of the next message, counted over all branches
  next_position integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, created_by) references principals,
  foreign key (tenant_id, space_id, project_id) references projects (tenant_id, space_id, id) on delete set null (project_id)
);
create index on threads (tenant_id, space_id, project_id);
create index on threads (tenant_id, space_id, created_at desc, id desc);
create index on threads (tenant_id, created_by);
create index threads_deleted on threads (tenant_id, id) where status = 'deleted';

create table thread_branches (
  tenant_id uuid not null references tenants,
  thread_id uuid not null,
  id uuid not null,
  -- null: the thread's first branch
  parent_branch_id uuid,
  -- the last position of the parent that belongs to this branch too
  forked_at integer,
  created_at timestamptz not null default now(),
  primary key (tenant_id, thread_id, id),
  foreign key (tenant_id, thread_id) references threads on delete cascade,
  foreign key (tenant_id, thread_id, parent_branch_id) references thread_branches on delete cascade,
  check ((parent_branch_id is null) = (forked_at is null))
);
create index on thread_branches (tenant_id, thread_id, parent_branch_id);
create unique index thread_branches_first on thread_branches (tenant_id, thread_id) where parent_branch_id is null;

create table messages (
  tenant_id uuid not null references tenants,
  thread_id uuid not null,
  id uuid not null,
  position integer not null,
  branch_id uuid not null,
  parent_message_id uuid,
  role text not null check (role in ('user', 'assistant', 'system')),
  -- where the space demands it, with tokens in the place of personal data
  content text not null,
  status text not null default 'completed' check (status in ('completed', 'streaming', 'failed')),
  metadata jsonb not null default '{}',
  created_by uuid not null,
  -- of a message that a response brought: which, and its place in what the response was given or has put out
  response_id text,
  response_position integer,
  created_at timestamptz not null default now(),
  primary key (tenant_id, thread_id, id),
  unique (tenant_id, thread_id, position),
  unique (tenant_id, thread_id, response_id, response_position),
  foreign key (tenant_id, thread_id) references threads on delete cascade,
  foreign key (tenant_id, thread_id, branch_id) references thread_branches on delete cascade,
  foreign key (tenant_id, thread_id, parent_message_id) references messages on delete cascade,
  foreign key (tenant_id, created_by) references principals,
  check ((response_id is null) = (response_position is null))
);
create index on messages (tenant_id, thread_id, branch_id, position);
create index on messages (tenant_id, thread_id, parent_message_id);
create index on messages (tenant_id, created_by);

-- The thread that a response belongs to: its question and its answer are messages there.
alter table responses
  add column thread_id uuid,
  add column branch_id uuid,
  add foreign key (tenant_id, thread_id) references threads on delete set null (thread_id);
create index responses_thread on responses (tenant_id, thread_id) where thread_id is not null;
create index responses_branch on responses (tenant_id, thread_id, branch_id)
  where finished_at is null and thread_id is not null;

-- What tokens stand for, sealed in batches: of a thread, or of a response without one, with which it goes.
create table redactions (
  tenant_id uuid not null references tenants,
  id uuid not null,
  thread_id uuid,
  response_id text,
  sealed text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, thread_id) references threads on delete cascade,
  foreign key (tenant_id, response_id) references responses on delete cascade,
  check ((thread_id is null) <> (response_id is null))
);
create index on redactions (tenant_id, thread_id, id);
create index on redactions (tenant_id, response_id, id);
