-- The event log, its chain and its counts. An event's id comes from the database's clock and tells its creation,
-- so that ids alone give order, windows and months.

create table events (
  -- Without a foreign key: a change of its months would have to lock tenants, which every request reads.
  tenant_id uuid not null,
  id uuid not null default uuidv7(),
  category text not null check (category in ('space', 'collection', 'security', 'system')),
  event_type text not null,
  actor_id uuid,
  -- as the actor's row had them sealed when the event was written
  actor_name text,
  actor_email text,
  resource_type text not null,
  resource_id text not null,
  metadata jsonb not null default '{}',
  created_at timestamptz not null generated always as (uuid_extract_timestamp(id)) stored,
  -- its position in the log's order
  transaction_id xid8 not null default app.log_position(pg_current_xact_id()),
  primary key (tenant_id, id),
  check (split_part(event_type, '.', 1) = category)
) partition by range (id);
-- Months lie between these two, see app.add_event_month; there is no default partition.
create table events_past partition of events for values from (minvalue) to ('00000000-0000-0000-0000-000000000000');
create table events_future partition of events for values from ('00000000-0000-0000-0000-000000000000') to (maxvalue);
create index on events (tenant_id, category, id);
create index on events (tenant_id, resource_type, category, id);
create index on events (tenant_id, resource_id, category, id);
-- the order of sealing
create index on events (tenant_id, transaction_id, id);

create table event_dedupe (
  tenant_id uuid not null references tenants,
  key text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, key)
);
create index event_dedupe_age on event_dedupe (created_at);

-- How far a tenant's log is sealed. Its events up to (last_transaction_id, last_event_id) are.
create table event_chains (
  tenant_id uuid not null references tenants,
  -- batches and events sealed since the beginning
  seq bigint not null default 0,
  event_count bigint not null default 0,
  head bytea not null default '',
  last_transaction_id xid8 not null default '0',
  last_event_id uuid not null default '00000000-0000-0000-0000-000000000000',
  -- where the kept part of the chain begins, once retention has cut it
  checkpoint_seq bigint not null default 0,
  checkpoint_count bigint not null default 0,
  checkpoint_head bytea not null default '',
  -- nothing older is shown or counted
  retained_from timestamptz not null default '-infinity',
  primary key (tenant_id)
);

-- A batch of sealed events of one month, in (transaction id, event id) order. digests holds 32 bytes for each of
-- event_ids; digest is their hash, and head = sha256(head of the batch before || seq || month || digest). A batch
-- whose month retention has dropped keeps its digest alone.
create table event_seals (
  tenant_id uuid not null references tenants,
  seq bigint not null,
  month timestamptz not null,
  event_count integer not null check (event_count > 0),
  event_ids uuid[],
  digests bytea,
  digest bytea not null,
  head bytea not null,
  last_transaction_id xid8 not null,
  last_event_id uuid not null,
  sealed_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, seq)
);

-- Of sealed events, by the ten minutes, hour, day and month (UTC) of their creation: the finer, the less of a window is
-- left to be counted event by event.
create table event_counts (
  tenant_id uuid not null references tenants,
  grain text not null check (grain in ('10 minutes', '1 hour', '1 day', '1 month')),
  starts_at timestamptz not null,
  category text not null,
  resource_type text not null,
  n bigint not null,
  primary key (tenant_id, grain, starts_at, category, resource_type)
);

-- Of sealed events of one resource, by the day and month, but for kinds of resources that have a handful of events each.
create table event_resource_counts (
  tenant_id uuid not null references tenants,
  resource_id text not null,
  grain text not null check (grain in ('1 day', '1 month')),
  starts_at timestamptz not null,
  category text not null,
  resource_type text not null,
  n bigint not null,
  primary key (tenant_id, resource_id, grain, starts_at, category, resource_type)
);

-- whose name or address is not sealed yet
create index principals_unsealed on principals (tenant_id, id)
  where (name is not null and sealed_name is null) or (email is not null and sealed_email is null);
