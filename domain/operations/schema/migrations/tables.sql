-- Every tenant table: tenant_id first in the primary key, in every unique key and in every foreign key.
-- The wall (row-level security, grants, policies) is put on all of them in wall.sql.

create table tenants (
  tenant_id uuid primary key,
  slug text not null unique,
  name text not null,
  status text not null default 'active' check (status in ('active', 'suspended', 'deletion_scheduled', 'deleting', 'deleted')),
  is_platform boolean not null default false,
  created_at timestamptz not null default now()
);

-- One platform tenant, whose principals operate the platform.
create unique index tenants_platform on tenants (is_platform) where is_platform;

create table principals (
  tenant_id uuid not null references tenants,
  id uuid not null,
  type text not null check (type in ('user', 'service_account', 'agent')),
  name text,
  email text,
  -- name and email under the principal's own key, as events copy them; null until they are sealed
  sealed_name text,
  sealed_email text,
  status text not null default 'active' check (status in ('active', 'disabled')),
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);
create index on principals (tenant_id, created_at desc, id desc);

create table roles (
  tenant_id uuid not null references tenants,
  id uuid not null,
  key text not null check (key ~ '^[a-z][a-z0-9_]{1,62}$'),
  name text not null,
  description text,
  permissions text[] not null default '{}',
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  unique (tenant_id, key)
);

-- A tenant-wide grant. The role is a built-in key or the key of a row in roles.
create table role_assignments (
  tenant_id uuid not null references tenants,
  principal_id uuid not null,
  role_key text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, principal_id, role_key),
  foreign key (tenant_id, principal_id) references principals
);

create table api_keys (
  tenant_id uuid not null references tenants,
  id uuid not null,
  key_id text not null unique check (key_id ~ '^[0-9a-z]{16}$'),
  secret_hash text not null,
  principal_id uuid not null,
  name text not null,
  -- null: everything that its principal may do
  permissions text[],
  -- other principals that made it and may hold it, and those that made what they came with
  makers text[] not null default '{}',
  expires_at timestamptz not null,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, principal_id) references principals
);
create index on api_keys (tenant_id, principal_id);
create index on api_keys (tenant_id, created_at desc, id desc);

create table spaces (
  tenant_id uuid not null references tenants,
  id uuid not null,
  name text not null,
  default_model_id uuid,
  policy jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id)
);
create index on spaces (tenant_id, created_at desc, id desc);

create table space_members (
  tenant_id uuid not null references tenants,
  space_id uuid not null,
  principal_id uuid not null,
  role_key text not null default 'space_member',
  created_at timestamptz not null default now(),
  primary key (tenant_id, space_id, principal_id),
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, principal_id) references principals
);
create index on space_members (tenant_id, principal_id);

create table models (
  tenant_id uuid not null references tenants,
  id uuid not null,
  alias text not null,
  provider_kind text not null check (provider_kind in ('openai', 'anthropic', 'google', 'openai_compatible', 'builtin')),
  provider_model text not null,
  base_url text,
  -- the name of the worker's environment variable that holds the vendor's key; the key itself is never stored
  credential_ref text,
  continuation text not null check (continuation in ('replay', 'reattach', 'prefill', 'instruct', 'none')),
  supports_reasoning boolean not null default false,
  -- of 'text', 'image', 'file': what a message to it may hold
  input_modalities jsonb not null default '["text"]',
  context_window integer not null check (context_window > 0),
  max_output_tokens integer not null check (max_output_tokens > 0),
  created_at timestamptz not null default now(),
  -- no new response may use it from then on; its rows stay, because answers and costs name them
  disabled_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, alias)
);

-- Append-only. Prices are micro-dollars per million tokens, so tokens x price is exact in pico-dollars.
create table model_prices (
  tenant_id uuid not null references tenants,
  id uuid not null,
  model_id uuid not null,
  valid_from timestamptz not null default now(),
  input_micro_usd_per_million bigint not null check (input_micro_usd_per_million >= 0),
  cached_input_micro_usd_per_million bigint not null check (cached_input_micro_usd_per_million >= 0),
  output_micro_usd_per_million bigint not null check (output_micro_usd_per_million >= 0),
  primary key (tenant_id, id),
  foreign key (tenant_id, model_id) references models
);
create index on model_prices (tenant_id, model_id, valid_from desc);

create table space_models (
  tenant_id uuid not null references tenants,
  space_id uuid not null,
  model_id uuid not null,
  primary key (tenant_id, space_id, model_id),
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, model_id) references models
);
create index on space_models (tenant_id, model_id);
alter table spaces add foreign key (tenant_id, default_model_id) references models;
create index on spaces (tenant_id, default_model_id);

create table collections (
  tenant_id uuid not null references tenants,
  id uuid not null,
  space_id uuid not null,
  name text not null,
  description text,
  text_search_config regconfig not null default 'english',
  created_by uuid not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, created_by) references principals
);
create index on collections (tenant_id, space_id, created_at desc, id desc);
create index on collections (tenant_id, created_by);

create table documents (
  tenant_id uuid not null references tenants,
  id uuid not null,
  collection_id uuid not null,
  filename text not null,
  media_type text not null check (media_type in ('text/plain', 'text/markdown', 'text/html')),
  status text not null default 'processing' check (status in ('processing', 'ready', 'failed')),
  failure_code text,
  content text not null,
  content_hash text not null,
  byte_size integer not null,
  chunk_count integer not null default 0,
  metadata jsonb not null default '{}',
  created_by uuid not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, collection_id) references collections on delete cascade,
  foreign key (tenant_id, created_by) references principals
);
create index on documents (tenant_id, collection_id, created_at desc, id desc);
create index on documents (tenant_id, created_by);
create index documents_processing on documents (tenant_id, id) where status = 'processing';

create table chunks (
  tenant_id uuid not null references tenants,
  document_id uuid not null,
  position integer not null,
  collection_id uuid not null,
  heading text,
  text text not null,
  start_offset integer not null,
  end_offset integer not null,
  config regconfig not null,
  tsv tsvector generated always as (to_tsvector(config, coalesce(heading, '') || ' ' || text)) stored,
  primary key (tenant_id, document_id, position),
  foreign key (tenant_id, document_id) references documents on delete cascade,
  foreign key (tenant_id, collection_id) references collections on delete cascade
);
create index on chunks (tenant_id, collection_id);
create index on chunks using gin (tsv);

-- A tool server that a space is connected to. Credentials are environment variables of the worker, by name.
create table mcp_servers (
  tenant_id uuid not null references tenants,
  id uuid not null,
  space_id uuid not null,
  slug text not null check (slug ~ '^[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?$'),
  display_name text not null,
  transport_type text not null default 'streamable_http' check (transport_type = 'streamable_http'),
  url text not null,
  credential_ref text,
  credential_header text,
  icon_url text,
  status text not null default 'pending' check (status in ('pending', 'auth_required', 'connected', 'error', 'disabled')),
  last_error text,
  enabled_tools jsonb not null default '[]',
  -- of what it listed last: more than are kept, or such as no one could use
  tools_left_out integer not null default 0,
  -- numbers the workflows that read its tools
  discovery_count integer not null default 0,
  last_checked_at timestamptz,
  created_by uuid not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  unique (tenant_id, space_id, slug),
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, created_by) references principals
);
create index on mcp_servers (tenant_id, space_id, created_at desc, id desc);
create index on mcp_servers (tenant_id, created_by);

create table mcp_tools (
  tenant_id uuid not null references tenants,
  server_id uuid not null,
  name text not null,
  -- mcp__<slug>__<tool>, as models know it
  exposed_name text not null,
  title text,
  -- without the hidden characters, whose places stand in hidden_characters
  description text not null,
  input_schema jsonb not null,
  output_schema jsonb,
  -- as the server claims: shown to people; one that announces destruction asks for consent, no other is trusted
  annotations jsonb,
  hidden_characters jsonb not null default '[]',
  -- it can be called as a task only: it is not offered
  requires_task boolean not null default false,
  -- of the definition as the server lists it now, and as it was approved
  schema_hash text not null,
  -- what it takes of a request to a model
  definition_bytes integer not null default 0,
  definition_tokens integer not null default 0,
  approved_hash text,
  -- what stands above, as it was when it was approved
  approved_definition jsonb,
  state text not null default 'new' check (state in ('new', 'approved', 'changed', 'removed')),
  repeatable boolean not null default false,
  -- null: nobody has said; then its annotations decide
  require_approval boolean,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  primary key (tenant_id, server_id, name),
  foreign key (tenant_id, server_id) references mcp_servers on delete cascade
);

-- The head row of a response: state, fence and sequence. Content hangs below it.
create table responses (
  tenant_id uuid not null references tenants,
  id text not null,
  space_id uuid not null,
  principal_id uuid not null,
  api_key_id uuid,
  status text not null default 'queued' check (status in ('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled')),
  -- fences the model lane: a writer whose epoch is not this one appends nothing
  writer_epoch integer not null default 0,
  -- the sequence number of the next stream event
  next_n integer not null default 0,
  next_output_index integer not null default 0,
  iteration_count integer not null default 0,
  tool_call_count integer not null default 0,
  attempts integer not null default 0,
  model_id uuid not null,
  model text not null,
  model_alias text not null,
  previous_response_id text,
  chain_depth integer not null default 0,
  -- on_busy enqueue: the response whose end lets this one begin
  waits_for text,
  -- what it waits for, or what that waited for, and whose conversation it goes on from; null: it has that
  context_from text,
  -- it waited, and is told the messages of its branch when it begins
  history_due boolean not null default false,
  request jsonb not null,
  -- of the body as it was sent, to recognise the same request when a client re-posts it with a cursor
  fingerprint text not null,
  governance jsonb not null,
  metadata jsonb,
  failure jsonb,
  incomplete_reason text,
  cancelled_by uuid,
  created_at timestamptz not null default now(),
  -- since when a worker could have begun it: its creation, or its parent's end
  queued_since timestamptz not null default now(),
  started_at timestamptz,
  deadline_at timestamptz,
  finished_at timestamptz,
  expires_at timestamptz not null,
  deleted_at timestamptz,
  -- once it has ended: its record as every reader is sent it
  record text,
  primary key (tenant_id, id),
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, principal_id) references principals,
  foreign key (tenant_id, model_id) references models,
  foreign key (tenant_id, api_key_id) references api_keys,
  check ((status in ('queued', 'in_progress')) = (finished_at is null))
) with (fillfactor = 60);
create index on responses (tenant_id, space_id, created_at desc, id desc);
create index on responses (tenant_id, principal_id);
create index on responses (tenant_id, model_id);
create index on responses (tenant_id, api_key_id);
create index responses_active on responses (tenant_id, space_id) where finished_at is null;
create index responses_unfinished on responses (created_at, id) where finished_at is null;
create index responses_waiting on responses (tenant_id, waits_for) where waits_for is not null;
create index responses_expiry on responses (expires_at, id);
create index responses_deleted on responses (deleted_at, id) where deleted_at is not null;

-- Content-free: tells an expired or deleted id from an unknown one for seven days after the end.
create table response_ids (
  tenant_id uuid not null references tenants,
  id text not null,
  space_id uuid not null,
  principal_id uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, id)
);
create index response_ids_expiry on response_ids (expires_at);

-- One message, call or result; wire is its JSON exactly as published. Immutable once written.
create table items (
  tenant_id uuid not null references tenants,
  id text not null,
  response_id text not null,
  -- null for the input of its response
  output_index integer,
  type text not null,
  wire text not null,
  -- for a tool call: what the model asked and was told (call_id, name, arguments, result); never on the wire
  exchange jsonb,
  provider_state jsonb,
  superseded_by text,
  -- for an approval request: the response that brought the one answer to it
  answered_by text,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);
create unique index on items (tenant_id, response_id, output_index);

-- What a response was given: the snapshot of its chain and its own input, as references.
create table response_context (
  tenant_id uuid not null references tenants,
  response_id text not null,
  position integer not null,
  item_id text not null,
  primary key (tenant_id, response_id, position),
  foreign key (tenant_id, response_id) references responses,
  foreign key (tenant_id, item_id) references items
);
create index on response_context (tenant_id, item_id);

-- Runs of stream events as canonical text, one JSON document a line, so that every replay is byte-equal.
create table stream_runs (
  tenant_id uuid not null references tenants,
  response_id text not null,
  first_n integer not null,
  n integer not null check (n > 0),
  events text not null,
  expires_at timestamptz not null,
  primary key (tenant_id, response_id, first_n, expires_at)
) partition by range (expires_at);
create table stream_runs_default partition of stream_runs default;

create table turns (
  tenant_id uuid not null references tenants,
  response_id text not null,
  iteration integer not null,
  status text not null default 'open' check (status in ('open', 'committed')),
  -- the sequence number of the turn's first event; its published prefix is folded from there
  first_n integer not null,
  first_output_index integer not null,
  result jsonb,
  created_at timestamptz not null default now(),
  committed_at timestamptz,
  primary key (tenant_id, response_id, iteration),
  foreign key (tenant_id, response_id) references responses on delete cascade
);

create table turn_attempts (
  tenant_id uuid not null references tenants,
  response_id text not null,
  iteration integer not null,
  attempt integer not null,
  epoch integer not null,
  outcome text not null default 'running' check (outcome in ('running', 'committed', 'vendor_failed', 'crashed', 'aborted')),
  failure_code text,
  -- the stream's next number when the attempt began: what was published from there is its own
  first_n integer not null,
  -- characters of the open item that were already published when the attempt began
  prefix_length integer not null default 0,
  continuation text,
  -- the vendor's own run of this attempt, which can be read again after a crash
  run_id text,
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  primary key (tenant_id, response_id, iteration, attempt),
  foreign key (tenant_id, response_id, iteration) references turns on delete cascade
);

-- The ledger of tool effects: planned -> started -> done, each step a compare-and-set.
create table tool_calls (
  tenant_id uuid not null references tenants,
  response_id text not null,
  iteration integer not null,
  call_index integer not null,
  call_id text not null,
  item_id text not null,
  output_index integer not null,
  tool text not null,
  -- of a tool server's tool: the server's slug and the tool's own name
  server_label text,
  tool_name text,
  -- of the definition that the model was offered, or that somebody consented to a call of
  schema_hash text,
  approval_request_id text,
  arguments text not null,
  idempotency_key text not null,
  first_label integer not null default 0,
  -- what the provider wants back with the call; goes to its item
  provider_state jsonb,
  attempts integer not null default 0,
  -- of the attempt that started it, and until when no other may take it for lost
  claim_nonce uuid,
  leased_until timestamptz,
  -- sealed: the session at its server that this call opened, for the response's later calls there
  session text,
  session_at timestamptz,
  status text not null default 'planned' check (status in ('planned', 'started', 'done')),
  outcome text check (outcome in ('succeeded', 'failed', 'denied', 'unknown')),
  result_digest text,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  done_at timestamptz,
  primary key (tenant_id, response_id, iteration, call_index),
  foreign key (tenant_id, response_id, iteration) references turns on delete cascade,
  check ((status = 'done') = (outcome is not null))
);
create index on tool_calls (tenant_id, response_id) where status = 'started';

-- One row per attempt at a model turn, settled once; later corrections are rows of kind adjustment.
create table usage_ledger (
  tenant_id uuid not null references tenants,
  response_id text not null,
  iteration integer not null,
  attempt integer not null,
  kind text not null default 'attempt' check (kind in ('attempt', 'adjustment')),
  space_id uuid not null,
  principal_id uuid not null,
  model_id uuid not null,
  price_id uuid not null,
  input_tokens bigint not null default 0,
  cached_input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  reasoning_tokens bigint not null default 0,
  cost_pico_usd bigint not null default 0,
  settled boolean not null default false,
  estimated boolean not null default false,
  aborted boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (tenant_id, response_id, iteration, attempt, kind),
  foreign key (tenant_id, price_id) references model_prices
);
create index on usage_ledger (tenant_id, price_id);

create table idempotency_keys (
  tenant_id uuid not null references tenants,
  principal_id uuid not null,
  -- method and path with its ids
  scope text not null,
  key text not null,
  fingerprint text not null,
  resource_id text not null,
  expires_at timestamptz not null,
  primary key (tenant_id, principal_id, scope, key)
);
create index idempotency_keys_expiry on idempotency_keys (expires_at);

-- Starts, cancels and signals owed to Temporal; ids only.
create table outbox (
  tenant_id uuid not null references tenants,
  id uuid not null,
  kind text not null check (kind in ('start', 'cancel', 'signal')),
  workflow_type text not null,
  workflow_id text not null,
  payload jsonb not null default '{}',
  claimed_until timestamptz not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);
create index outbox_order on outbox (claimed_until, id);
create index on outbox (tenant_id, workflow_id, id);
