-- What each user is told of events. Rows come from a set-based insert per page of recipients; the unique key makes
-- every repeat of it harmless.
create table notifications (
  tenant_id uuid not null references tenants,
  id uuid not null default uuidv7(),
  event_id uuid not null,
  user_id uuid not null,
  category text not null check (category in ('space', 'collection', 'security', 'system')),
  event_type text not null,
  resource_type text,
  resource_id text,
  title text not null,
  body text,
  read_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  unique (tenant_id, event_id, user_id),
  foreign key (tenant_id, user_id) references principals,
  check (split_part(event_type, '.', 1) = category)
);
create index on notifications (tenant_id, user_id, created_at desc, id desc);
-- The unread ones of a user: their list, and their exact count, which is counted here and kept nowhere.
create index notifications_unread on notifications (tenant_id, user_id, created_at desc, id desc) where read_at is null;
create index notifications_age on notifications (created_at);

-- Fan-outs that have not reached their last recipient, so that the engine can lose none of them.
create table fan_outs (
  tenant_id uuid not null references tenants,
  event_id uuid not null,
  event_type text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, event_id)
);
create index fan_outs_order on fan_outs (created_at, event_id);

-- Periods that somebody was told of: a second event of the same kind in the same one tells nobody.
create table notified_periods (
  tenant_id uuid not null references tenants,
  key text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, key)
);
create index notified_periods_age on notified_periods (created_at);

-- Refusals of one principal, counted when one more is recorded.
create index events_denied on events (tenant_id, actor_id, created_at) where event_type = 'security.permission_denied';
