-- The schema as release 2026.11.21 made it: what a database of that release holds. Never edited.

create table mikro_orm_migrations (id serial primary key, name varchar(255) not null, executed_at timestamptz(6) not null default current_timestamp(6));

-- Every tenant table: tenant_id first in the primary key, in every unique key and in every foreign key.
-- The wall (row-level security, grants, policies) is put on all of them in row-level-security.sql.

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
  kind text not null check (kind in ('start', 'cancel')),
  workflow_type text not null,
  workflow_id text not null,
  payload jsonb not null default '{}',
  claimed_until timestamptz not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);
create index outbox_order on outbox (claimed_until, id);
create index on outbox (tenant_id, workflow_id, id);

-- The keys of sealed fields, each wrapped by the master key. A row that is gone takes with it all that it sealed.
create table data_keys (
  tenant_id uuid not null references tenants,
  id uuid not null,
  -- null: the tenant's own
  principal_id uuid,
  wrapped text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, principal_id) references principals
);
create index on data_keys (tenant_id, principal_id, created_at desc);

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
-- Read by whoever asks for the invites to an address. Those of a tenant are few, and the wall keeps an address out of an index.
create index invites_standing on invites (tenant_id, created_at desc, id desc) where status = 'pending';
create index on invites (tenant_id, invited_by);
create index on invites (tenant_id, answered_by);
create index on invites (tenant_id, role_key) where status = 'pending';
create index invites_due on invites (expires_at) where status = 'pending';

-- Signing in with an identity provider of the tenant, and the sessions that come of it.

create table identity_providers (
  tenant_id uuid not null references tenants,
  id uuid not null,
  slug text not null check (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  display_name text not null,
  issuer text not null,
  client_id text not null,
  -- sealed; null for a public client
  client_secret text,
  signing_alg text not null check (signing_alg in
    ('RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA')),
  -- audiences that an ID token may name beside our client_id
  extra_audiences text[] not null default '{}',
  -- where a finished sign-in may lead, compared character by character; the first is the default
  redirect_uris text[] not null default '{}',
  -- automatic: whoever the provider vouches for becomes a user; known: only those that have an identity already
  provisioning text not null default 'known' check (provisioning in ('automatic', 'known')),
  strict_rotation boolean not null default false,
  status text not null default 'active' check (status in ('active', 'disabled')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  unique (tenant_id, slug)
);
create index on identity_providers (tenant_id, created_at desc, id desc);
create index on identity_providers (id);
create index on identity_providers (slug);

-- A principal is found by provider and subject, never by an address.
create table external_identities (
  tenant_id uuid not null references tenants,
  provider_id uuid not null,
  subject text not null,
  principal_id uuid not null,
  -- other principals that linked it, as with API keys; empty after a first sign-in
  makers text[] not null default '{}',
  created_at timestamptz not null default now(),
  primary key (tenant_id, provider_id, subject),
  foreign key (tenant_id, provider_id) references identity_providers,
  foreign key (tenant_id, principal_id) references principals
);
create index on external_identities (tenant_id, principal_id);

-- One sign-in that was started. Of everything secret only a keyed hash is here; the PKCE verifier and the nonce are sealed.
create table login_transactions (
  tenant_id uuid not null references tenants,
  id uuid not null,
  provider_id uuid not null,
  state_hash text not null,
  nonce_hash text not null,
  cookie_hash text not null,
  proof text not null,
  redirect_uri text,
  expires_at timestamptz not null,
  -- the one ID token has been taken, or the sign-in has failed
  consumed_at timestamptz,
  -- whom the callback has proved, until the one-time handle is redeemed
  principal_id uuid,
  handle_hash text,
  handle_expires_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, provider_id) references identity_providers,
  foreign key (tenant_id, principal_id) references principals
);
create index on login_transactions (tenant_id, provider_id);
create index on login_transactions (tenant_id, principal_id);
create index on login_transactions (state_hash);
create index on login_transactions (nonce_hash);
create index on login_transactions (handle_hash) where handle_hash is not null;
create index on login_transactions (expires_at);

create table sessions (
  tenant_id uuid not null references tenants,
  id uuid not null,
  principal_id uuid not null,
  provider_id uuid not null,
  -- of the refresh token that is current
  generation integer not null default 1,
  -- the browser that it began in, by the keyed hash of the cookie that tells it again
  device_hash text,
  expires_at timestamptz not null,
  ended_at timestamptz,
  end_reason text check (end_reason in ('logout', 'revoked', 'reuse', 'provider_disabled', 'provider_changed', 'principal_deleted')),
  last_used_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, principal_id) references principals,
  foreign key (tenant_id, provider_id) references identity_providers,
  check ((ended_at is null) = (end_reason is null))
);
create index on sessions (tenant_id, principal_id);
create index on sessions (tenant_id, provider_id);
create index on sessions (tenant_id, created_at desc, id desc);
create index on sessions (expires_at);

create table session_tokens (
  tenant_id uuid not null references tenants,
  id uuid not null,
  session_id uuid not null,
  kind text not null check (kind in ('access', 'refresh')),
  token_hash text not null,
  generation integer not null,
  expires_at timestamptz not null,
  -- a refresh token whose successor has been used
  retired_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, session_id) references sessions
);
create index on session_tokens (tenant_id, session_id, generation);
-- few, however many were retired
create index on session_tokens (tenant_id, session_id, kind) where retired_at is null;
create index on session_tokens (token_hash);
create index on session_tokens (expires_at);

-- ID tokens that were taken, by what they claim and not by their text: another spelling is the same token.
create table used_id_tokens (
  tenant_id uuid not null references tenants,
  claims_hash text not null,
  -- for the repeat of a request: its session, key and body
  session_id uuid,
  idempotency_key text,
  fingerprint text,
  expires_at timestamptz not null,
  primary key (tenant_id, claims_hash),
  foreign key (tenant_id, session_id) references sessions
);
create index on used_id_tokens (tenant_id, session_id);
create index on used_id_tokens (expires_at);

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

-- The event log, its chain and its counts. An event's id comes from the database's clock and tells its creation,
-- so that ids alone give order, windows and months.

-- Where a transaction stands in the order of the log: by its id, behind everything that the log was told by the server
-- that it was dumped from. `migrate` moves the beginning after a restore.
create function app.log_beginning() returns bigint language sql immutable as 'select 0::bigint';
create function app.log_position(p_transaction xid8) returns xid8 language sql stable as $$
  select (p_transaction::text::bigint + app.log_beginning())::text::xid8
$$;

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

-- The tenant's requests over all gateways: a bucket that fills with time, from which gateways take blocks. Unlogged,
-- because after a crash a full bucket does no harm.
create unlogged table rate_buckets (
  tenant_id uuid primary key references tenants,
  tokens double precision not null,
  filled_at timestamptz not null
);

-- Takes up to p_want tokens, none when there is less than one. p_rate is a second's, p_burst the bucket's size.
create function app.take_tokens(p_tenant uuid, p_want integer, p_rate double precision, p_burst double precision)
returns table (taken integer, rest double precision) language plpgsql as $$
declare
  v_tokens double precision;
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  insert into rate_buckets as b (tenant_id, tokens, filled_at) values (p_tenant, p_burst, clock_timestamp())
    on conflict (tenant_id) do update
      -- The clock is read behind the row's lock, so that whoever waited for it is given what has come in since.
      set tokens = least(p_burst, b.tokens + greatest(0, extract(epoch from clock_timestamp() - b.filled_at)) * p_rate),
          -- also when the clock was put back: waiting for it to catch up would refuse everybody till then
          filled_at = clock_timestamp()
    returning b.tokens into v_tokens;
  taken := least(p_want, floor(v_tokens)::integer);
  rest := v_tokens - taken;
  if taken > 0 then
    update rate_buckets b set tokens = rest where b.tenant_id = p_tenant;
  end if;
  return next;
end $$;

-- A turn and its calls: one reading call that brings all that the decision needs, and one writing call that
-- carries all that was decided. Nothing is decided here but whether the response is still as it was read.

-- A head with the clock and with all that decides what its asker may do now.
create function app.read_head(p_tenant uuid, p_head responses) returns json language plpgsql stable as $$
begin
  return json_build_object(
    'now', floor(extract(epoch from clock_timestamp()) * 1000),
    'head', to_json(p_head),
    'access', app.read_access(p_tenant, p_head.principal_id, p_head.space_id),
    'key', (select json_build_object('revoked', k.revoked_at is not null, 'permissions', k.permissions)
            from api_keys k where k.tenant_id = p_tenant and k.id = p_head.api_key_id));
end $$;

-- All that the claim of a turn is decided by, under one snapshot. No row: unknown or out of reach.
create function app.read_turn(p_tenant uuid, p_response text, p_iteration integer)
returns table (head json, turn json, attempts json, events text, context json, own json, model json, price json, ledger json)
language plpgsql stable as $$
declare
  r responses;
  t turns;
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  select * into r from responses where tenant_id = p_tenant and id = p_response and expires_at > now();
  if not found then
    return;
  end if;
  head := app.read_head(p_tenant, r);
  select * into t from turns where tenant_id = p_tenant and response_id = p_response and iteration = p_iteration;
  if found then
    turn := to_json(t);
    select string_agg(s.events, e'\n' order by s.first_n) into events from stream_runs s
      where s.tenant_id = p_tenant and s.response_id = p_response and s.first_n >= t.first_n
        and s.expires_at = r.expires_at;
    select json_agg(a order by a.attempt) into attempts from turn_attempts a
      where a.tenant_id = p_tenant and a.response_id = p_response and a.iteration = p_iteration;
  end if;
  -- images and sounds of the last results only: all of them would fill a process
  select json_agg(json_build_object('response_id', g.response_id, 'type', g.type, 'wire', g.wire,
        'exchange', case when g.media > 4 then g.exchange - 'media' else g.exchange end,
        'provider_state', g.provider_state) order by g.position)
    into context from (
      select i.response_id, i.type, i.wire, i.exchange, i.provider_state, c.position,
          count(*) filter (where i.exchange ? 'media') over (order by c.position desc) as media
        from response_context c join items i on i.tenant_id = c.tenant_id and i.id = c.item_id
        where c.tenant_id = p_tenant and c.response_id = p_response) g;
  select json_agg(json_build_object('response_id', g.response_id, 'type', g.type, 'wire', g.wire,
        'exchange', case when g.media > 4 then g.exchange - 'media' else g.exchange end,
        'provider_state', g.provider_state) order by g.output_index)
    into own from (
      select i.response_id, i.type, i.wire, i.exchange, i.provider_state, i.output_index,
          count(*) filter (where i.exchange ? 'media') over (order by i.output_index desc) as media
        from items i where i.tenant_id = p_tenant and i.response_id = p_response
          and i.output_index is not null and i.superseded_by is null) g;
  select to_json(m) into model from models m where m.tenant_id = p_tenant and m.id = r.model_id;
  select json_build_object('id', p.id, 'input', p.input_micro_usd_per_million::text,
        'cached_input', p.cached_input_micro_usd_per_million::text, 'output', p.output_micro_usd_per_million::text)
    into price from model_prices p
    where p.tenant_id = p_tenant and p.model_id = r.model_id and p.valid_from <= now()
    order by p.valid_from desc, p.id desc limit 1;
  select json_build_object('usage', app.sum_usage(p_tenant, p_response),
        -- what an interrupted attempt published is kept where the next one went on behind it
        'kept_output_tokens', coalesce(sum(u.output_tokens) filter (where u.settled and (not u.aborted
          or u.iteration <> p_iteration and exists (select from turn_attempts next
            where next.tenant_id = p_tenant and next.response_id = p_response and next.iteration = u.iteration
              and next.attempt = u.attempt + 1 and next.continuation in ('prefill', 'instruct', 'restart')))), 0),
        'unsettled', coalesce(json_agg(json_build_object('iteration', u.iteration, 'attempt', u.attempt))
          filter (where not u.settled), '[]'))
    into ledger from usage_ledger u where u.tenant_id = p_tenant and u.response_id = p_response;
  return next;
end $$;

-- Where the lane stands now, the database's clock and whether another response waits for this one to end.
create function app.read_lane(p_tenant uuid, p_response text)
returns table (epoch integer, next_n integer, now_ms double precision, awaited boolean)
language plpgsql stable as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  return query
    select r.writer_epoch, r.next_n, floor(extract(epoch from clock_timestamp()) * 1000)::float8,
      exists (select from responses w where w.tenant_id = p_tenant and w.waits_for = p_response)
    from responses r where r.tenant_id = p_tenant and r.id = p_response and r.expires_at > now();
end $$;

-- What a new response is settled by: its space, the model by its alias or as the space's default, whether the space
-- may use it.
create function app.read_admission(p_tenant uuid, p_space uuid, p_alias text)
returns table (space json, model json, allowed boolean) language plpgsql stable as $$
declare
  s spaces;
  m models;
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  select * into s from spaces where tenant_id = p_tenant and id = p_space;
  if not found then
    return;
  end if;
  space := to_json(s);
  if p_alias is null then
    select * into m from models where tenant_id = p_tenant and id = s.default_model_id;
  else
    select * into m from models where tenant_id = p_tenant and alias = p_alias;
  end if;
  if found then
    model := to_json(m);
    allowed := exists (select from space_models a
      where a.tenant_id = p_tenant and a.space_id = p_space and a.model_id = m.id);
  end if;
  return next;
end $$;

-- How many responses of a tenant, or of one of its spaces, are running; exact until the transaction ends as far as the
-- limit goes: others that count at the same time cannot pass it together with this one. Far below it they count side by
-- side, since the server has too few connections to reach it; near it they take turns.
create function app.count_active(p_tenant uuid, p_space uuid, p_limit integer) returns integer language plpgsql as $$
declare
  place constant bigint := hashtextextended('active/' || p_tenant || '/' || coalesce(p_space::text, ''), 0);
  most_at_once constant integer := current_setting('max_connections')::integer;
  active integer;
begin
  if p_limit > most_at_once then
    begin
      perform pg_advisory_xact_lock_shared(place);
      active := app.count_running(p_tenant, p_space);
      if active < p_limit - most_at_once then
        return active;
      end if;
      -- takes the shared lock back, which would stand in the way of everybody who does the same
      raise exception using errcode = 'LM001';
    exception when sqlstate 'LM001' then
      null;
    end;
  end if;
  perform pg_advisory_xact_lock(place);
  return app.count_running(p_tenant, p_space);
end $$;

-- By what has been committed when it is called: not stable, so that it does not see the snapshot of its caller.
create function app.count_running(p_tenant uuid, p_space uuid) returns integer language plpgsql as $$
begin
  return (select count(*) from responses r
    where r.tenant_id = p_tenant and r.finished_at is null and (p_space is null or r.space_id = p_space));
end $$;

-- A call of the ledger and the head above it; either is null when it is out of reach.
create function app.read_call(p_tenant uuid, p_response text, p_iteration integer, p_index integer)
returns table (head json, call json) language plpgsql stable as $$
declare
  r responses;
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  select * into r from responses where tenant_id = p_tenant and id = p_response and expires_at > now();
  if found then
    head := app.read_head(p_tenant, r);
  end if;
  select to_json(c) into call from tool_calls c
    where c.tenant_id = p_tenant and c.response_id = p_response and c.iteration = p_iteration and c.call_index = p_index;
  return next;
end $$;

-- Renews the lease of the attempt that holds a call, or gives it up. False: the call is another's by now, or settled.
create function app.hold_call(p_tenant uuid, p_response text, p_iteration integer, p_index integer, p_nonce uuid,
  p_lease_seconds double precision)
returns boolean language plpgsql as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  update tool_calls set claim_nonce = case when p_lease_seconds is null then null else p_nonce end,
      leased_until = clock_timestamp() + make_interval(secs => p_lease_seconds)
    where tenant_id = p_tenant and response_id = p_response and iteration = p_iteration and call_index = p_index
      and status = 'started' and claim_nonce = p_nonce;
  return found;
end $$;

-- Writes one change of a response, whole or not at all: the head's new values, rows and events, readers woken.
-- 'conflict': the response is not as it was read (its epoch or its next number differs, or the call's status does).
-- 'blocked': it would end while another response waits for that. Nothing is written in either case.
create function app.write_response(p_tenant uuid, p_response text, p_epoch integer, p_next_n integer, p_change jsonb)
returns text language plpgsql as $$
declare
  old responses;
  new responses;
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  select * into old from responses where tenant_id = p_tenant and id = p_response and expires_at > now()
    for no key update;
  if not found or old.writer_epoch <> p_epoch or old.next_n <> p_next_n then
    return 'conflict';
  end if;
  if p_change -> 'head' ? 'finished_at'
      and exists (select from responses where tenant_id = p_tenant and waits_for = p_response) then
    return 'blocked';
  end if;
  if p_change ? 'call' then
    -- A call that another attempt holds is taken from it by nobody, unless it is to be settled by what is known.
    update tool_calls c set status = n.status, attempts = n.attempts, outcome = n.outcome,
        result_digest = n.result_digest, started_at = n.started_at, done_at = n.done_at,
        claim_nonce = coalesce(n.nonce, c.claim_nonce),
        leased_until = case when n.lease_seconds is null then c.leased_until
          else clock_timestamp() + make_interval(secs => n.lease_seconds) end
      from jsonb_to_record(p_change -> 'call') as n(iteration integer, call_index integer, was text, status text,
        attempts integer, outcome text, result_digest text, started_at timestamptz, done_at timestamptz, nonce uuid,
        lease_seconds double precision, known boolean)
      where c.tenant_id = p_tenant and c.response_id = p_response and c.iteration = n.iteration
        and c.call_index = n.call_index and c.status = n.was
        and (n.known or c.claim_nonce is null or c.claim_nonce = n.nonce or c.leased_until <= clock_timestamp());
    if not found then
      return 'conflict';
    end if;
  end if;
  if p_change ? 'head' then
    new := jsonb_populate_record(old, p_change -> 'head');
    update responses set status = new.status, writer_epoch = new.writer_epoch, next_n = new.next_n,
        next_output_index = new.next_output_index, iteration_count = new.iteration_count,
        tool_call_count = new.tool_call_count, attempts = new.attempts, failure = new.failure,
        incomplete_reason = new.incomplete_reason, started_at = new.started_at, deadline_at = new.deadline_at,
        finished_at = new.finished_at, expires_at = new.expires_at, chain_depth = new.chain_depth,
        waits_for = new.waits_for, context_from = new.context_from, history_due = new.history_due, record = new.record
      where tenant_id = p_tenant and id = p_response;
    -- Where the events of a response stand follows from its expiry, so they move with it.
    if new.expires_at <> old.expires_at then
      update response_ids set expires_at = new.expires_at where tenant_id = p_tenant and id = p_response;
      update stream_runs set expires_at = new.expires_at where tenant_id = p_tenant and response_id = p_response;
    end if;
  else
    new := old;
  end if;
  if p_change ? 'events' then
    insert into stream_runs (tenant_id, response_id, first_n, n, events, expires_at)
      values (p_tenant, p_response, p_next_n, new.next_n - p_next_n, p_change ->> 'events', new.expires_at);
    perform pg_notify('wake', p_response || ':' || (new.next_n - 1));
  end if;
  if p_change ? 'items' then
    insert into items (tenant_id, id, response_id, output_index, type, wire, exchange, provider_state, superseded_by)
      select p_tenant, n.id, p_response, n.output_index, n.type, n.wire, n.exchange, n.provider_state, n.superseded_by
      from jsonb_to_recordset(p_change -> 'items') as n(id text, output_index integer, type text, wire text,
        exchange jsonb, provider_state jsonb, superseded_by text);
  end if;
  if p_change ? 'context' then
    insert into response_context (tenant_id, response_id, position, item_id)
      select p_tenant, p_response, n.position, n.item_id
      from jsonb_to_recordset(p_change -> 'context') as n(position integer, item_id text);
  end if;
  if p_change ? 'starts' then
    insert into outbox (tenant_id, id, kind, workflow_type, workflow_id, payload, claimed_until)
      select p_tenant, n.id, 'start', n.workflow_type, n.workflow_id, n.payload, now() + make_interval(secs => n.lease_seconds)
      from jsonb_to_recordset(p_change -> 'starts') as n(id uuid, workflow_type text, workflow_id text, payload jsonb,
        lease_seconds double precision);
  end if;
  if p_change ? 'turn' then
    insert into turns (tenant_id, response_id, iteration, status, first_n, first_output_index, result, committed_at)
      select p_tenant, p_response, n.iteration, n.status, n.first_n, n.first_output_index, n.result, n.committed_at
      from jsonb_to_record(p_change -> 'turn') as n(iteration integer, status text, first_n integer,
        first_output_index integer, result jsonb, committed_at timestamptz)
      on conflict (tenant_id, response_id, iteration) do update
        set status = excluded.status, result = excluded.result, committed_at = excluded.committed_at;
  end if;
  if p_change ? 'attempt' then
    insert into turn_attempts (tenant_id, response_id, iteration, attempt, epoch, first_n, prefix_length, continuation,
        run_id, started_at)
      select p_tenant, p_response, n.iteration, n.attempt, n.epoch, n.first_n, n.prefix_length, n.continuation,
        n.run_id, n.started_at
      from jsonb_to_record(p_change -> 'attempt') as n(iteration integer, attempt integer, epoch integer,
        first_n integer, prefix_length integer, continuation text, run_id text, started_at timestamptz);
    -- What is unsettled by now was of the run that this attempt reads again, and pays for.
    update usage_ledger set input_tokens = 0, aborted = true, settled = true
      where tenant_id = p_tenant and response_id = p_response and kind = 'attempt' and not settled;
    insert into usage_ledger (tenant_id, response_id, iteration, attempt, space_id, principal_id, model_id, price_id,
        input_tokens)
      select p_tenant, p_response, n.iteration, n.attempt, old.space_id, old.principal_id, old.model_id, n.price_id,
        n.input_tokens
      from jsonb_to_record(p_change -> 'attempt') as n(iteration integer, attempt integer, price_id uuid,
        input_tokens bigint);
  end if;
  if p_change ? 'committed' then
    update turn_attempts a set outcome = 'committed', ended_at = n.ended_at
      from jsonb_to_record(p_change -> 'committed') as n(iteration integer, attempt integer, ended_at timestamptz)
      where a.tenant_id = p_tenant and a.response_id = p_response
        and a.iteration = n.iteration and a.attempt = n.attempt;
    update usage_ledger u set input_tokens = n.input_tokens, cached_input_tokens = n.cached_input_tokens,
        output_tokens = n.output_tokens, reasoning_tokens = n.reasoning_tokens, cost_pico_usd = n.cost_pico_usd,
        estimated = n.estimated, aborted = false, settled = true
      from jsonb_to_record(p_change -> 'committed') as n(iteration integer, attempt integer, input_tokens bigint,
        cached_input_tokens bigint, output_tokens bigint, reasoning_tokens bigint, cost_pico_usd bigint, estimated boolean)
      where u.tenant_id = p_tenant and u.response_id = p_response and u.iteration = n.iteration
        and u.attempt = n.attempt and u.kind = 'attempt' and not u.settled;
  end if;
  if p_change ? 'calls' then
    insert into tool_calls (tenant_id, response_id, iteration, call_index, call_id, item_id, output_index, tool,
        server_label, tool_name, schema_hash, approval_request_id, arguments, idempotency_key, first_label, provider_state)
      select p_tenant, p_response, n.iteration, n.call_index, n.call_id, n.item_id, n.output_index, n.tool,
        n.server_label, n.tool_name, n.schema_hash, n.approval_request_id, n.arguments, n.idempotency_key, n.first_label, n.provider_state
      from jsonb_to_recordset(p_change -> 'calls') as n(iteration integer, call_index integer, call_id text, item_id text,
        output_index integer, tool text, server_label text, tool_name text, schema_hash text, approval_request_id text, arguments text,
        idempotency_key text, first_label integer, provider_state jsonb);
  end if;
  if p_change ? 'audits' then
    -- Of an event that was known, nobody is told again.
    with told as (
      select uuidv7() as id, n.* from jsonb_to_recordset(p_change -> 'audits') as n(dedupe_key text, category text,
        event_type text, actor_id uuid, resource_type text, resource_id text, metadata jsonb, fan_out jsonb)),
    fresh as (
      insert into event_dedupe (tenant_id, key) select p_tenant, dedupe_key from told where dedupe_key is not null
      on conflict do nothing returning key),
    written as (
      insert into events (tenant_id, id, category, event_type, actor_id, actor_name, actor_email, resource_type,
        resource_id, metadata)
      select p_tenant, t.id, t.category, t.event_type, t.actor_id, p.sealed_name, p.sealed_email, t.resource_type,
        t.resource_id, t.metadata
      from told t left join principals p on p.tenant_id = p_tenant and p.id = t.actor_id
      where t.dedupe_key is null or t.dedupe_key in (select key from fresh) returning id),
    owed as (
      select t.id, t.event_type, t.fan_out from told t join written using (id) where t.fan_out is not null),
    unfinished as (
      insert into fan_outs (tenant_id, event_id, event_type) select p_tenant, id, event_type from owed)
    insert into outbox (tenant_id, id, kind, workflow_type, workflow_id, payload, claimed_until)
      select p_tenant, (fan_out ->> 'outbox_id')::uuid, 'start', fan_out ->> 'workflow_type',
        (fan_out ->> 'workflow_id_prefix') || id, (fan_out -> 'payload') || jsonb_build_object('eventId', id), now()
      from owed;
  end if;
  return 'applied';
end $$;

-- Processes remember for some seconds whose a key is. Whoever changes one, they are told.
create function app.tell_key_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('access', old.tenant_id::text);
  return null;
end $$;
create trigger tell_key_change after delete or update of key_id, secret_hash, principal_id, permissions, expires_at, revoked_at
  on api_keys for each row execute function app.tell_key_change();

-- Responses for many readers at once, each with all that its GET needs. A row per place in the arrays: access (null:
-- as in the row before), owner, and for one that has ended its record as it is sent. What else is null was not
-- found, or is in the parts of one that runs; the caller tells expired from unknown by ids. With p_bare nothing is
-- read but what tells whether the reader may read it.
create function app.read_responses(
  p_tenant uuid[], p_principal uuid[], p_space uuid[], p_response text[], p_bare boolean[])
returns table (access text, owner uuid, next_n integer, expires_in_ms double precision, record text,
  ids jsonb, head jsonb, items jsonb, usage jsonb, open_calls jsonb, open_events text)
language plpgsql stable as $$
declare
  i integer;
begin
  for i in 1 .. cardinality(p_tenant) loop
    access := null;
    ids := null;
    head := null;
    items := null;
    usage := null;
    open_calls := null;
    open_events := null;
    if i = 1 or p_tenant[i] <> p_tenant[i - 1] or p_principal[i] <> p_principal[i - 1] or p_space[i] <> p_space[i - 1] then
      -- sets the tenant too
      access := app.read_access(p_tenant[i], p_principal[i], p_space[i]);
    end if;
    select r.principal_id, r.next_n, ceil(extract(epoch from r.expires_at - now()) * 1000),
        case when not p_bare[i] then r.record end
      into owner, next_n, expires_in_ms, record from responses r
      where r.tenant_id = p_tenant[i] and r.id = p_response[i] and r.space_id = p_space[i] and r.expires_at > now();
    if not found then
      -- Only now does it matter why.
      select d.principal_id, jsonb_build_object('expired', d.expires_at <= now(), 'deleted', d.deleted_at is not null)
        into owner, ids from response_ids d
        where d.tenant_id = p_tenant[i] and d.id = p_response[i] and d.space_id = p_space[i];
    elsif record is null and not p_bare[i] then
      select u.head, u.items, u.usage, u.open_calls, u.open_events
        into head, items, usage, open_calls, open_events from app.read_unfinished(p_tenant[i], p_response[i]) u;
    end if;
    return next;
  end loop;
end $$;

-- The head, the finished items and the usage of a response that has no record yet and, while it runs, its calls and
-- the events of the open turn.
create function app.read_unfinished(p_tenant uuid, p_response text)
returns table (head jsonb, items jsonb, usage jsonb, open_calls jsonb, open_events text) language plpgsql stable as $$
declare
  v_turn_first integer;
  v_expires timestamptz;
begin
  select r.expires_at, jsonb_build_object(
      'id', r.id, 'status', r.status, 'space_id', r.space_id, 'model', r.model, 'model_alias', r.model_alias,
      'previous_response_id', r.previous_response_id, 'governance', r.governance, 'iteration_count', r.iteration_count,
      'failure', r.failure, 'incomplete_reason', r.incomplete_reason, 'attempts', r.attempts,
      'tool_call_count', r.tool_call_count, 'cancelled_by', r.cancelled_by, 'metadata', r.metadata,
      'thread_id', r.thread_id, 'branch_id', r.branch_id,
      'created_at', to_char(r.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'finished_at', to_char(r.finished_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'expires_at', to_char(r.expires_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    into v_expires, head from responses r
    where r.tenant_id = p_tenant and r.id = p_response and r.expires_at > now();
  if not found then
    return;
  end if;
  select coalesce(jsonb_agg(jsonb_build_object('output_index', i.output_index, 'wire', i.wire)), '[]') into items from items i
    where i.tenant_id = p_tenant and i.response_id = p_response
      and i.output_index is not null and i.superseded_by is null;
  usage := app.sum_usage(p_tenant, p_response);
  if head ->> 'status' = 'in_progress' then
    select coalesce(jsonb_agg(jsonb_build_object('itemId', c.item_id, 'outputIndex', c.output_index, 'arguments', c.arguments,
        'tool', c.tool, 'serverLabel', c.server_label, 'toolName', c.tool_name, 'approvalRequestId', c.approval_request_id)
        order by c.output_index), '[]') into open_calls from tool_calls c
      where c.tenant_id = p_tenant and c.response_id = p_response and c.status <> 'done';
    select t.first_n into v_turn_first from turns t
      where t.tenant_id = p_tenant and t.response_id = p_response and t.status = 'open'
      order by t.iteration desc limit 1;
    if v_turn_first is not null then
      select string_agg(s.events, e'\n' order by s.first_n) into open_events from stream_runs s
        where s.tenant_id = p_tenant and s.response_id = p_response and s.expires_at = v_expires
          and s.first_n >= v_turn_first;
    end if;
  end if;
  return next;
end $$;

-- Hot SQL. Each function takes tenant_id first and sets the tenant for its own transaction, so that one
-- round trip suffices and row-level security stays the wall (SECURITY INVOKER).

-- Appends runs of stream events for many responses at once. Per element: 'in', 'fenced' (another writer holds
-- the model lane, or next_n is not first_n) or 'busy' (somebody holds the head just now: try again). Waits for
-- nobody and never raises for one, so that a locked response does not hold up the others.
create function app.append_stream(
  p_tenant uuid[], p_response text[], p_epoch integer[], p_first_n integer[], p_n integer[], p_events text[]
) returns text[] language plpgsql as $$
declare
  answers text[] := array_fill('fenced'::text, array[cardinality(p_tenant)]);
  i integer;
  v_expires timestamptz;
  woken text := '';
begin
  for i in
    select o from unnest(p_tenant, p_response) with ordinality as u(t, r, o) order by t, r
  loop
    perform set_config('app.tenant_id', p_tenant[i]::text, true);
    -- Nobody is waited for: a head that somebody holds just now answers busy.
    if not exists (select from responses r
        where r.tenant_id = p_tenant[i] and r.id = p_response[i] and r.expires_at > now()
        for no key update skip locked) then
      if exists (select from responses r
          where r.tenant_id = p_tenant[i] and r.id = p_response[i] and r.expires_at > now()) then
        answers[i] := 'busy';
      end if;
      continue;
    end if;
    update responses set next_n = next_n + p_n[i]
      where tenant_id = p_tenant[i] and id = p_response[i]
        and writer_epoch = p_epoch[i] and next_n = p_first_n[i] and status = 'in_progress'
      returning expires_at into v_expires;
    if found then
      insert into stream_runs (tenant_id, response_id, first_n, n, events, expires_at)
        values (p_tenant[i], p_response[i], p_first_n[i], p_n[i], p_events[i], v_expires);
      answers[i] := 'in';
      if length(woken) > 7000 then
        perform pg_notify('wake', woken);
        woken := '';
      end if;
      woken := woken || p_response[i] || ':' || (p_first_n[i] + p_n[i] - 1) || ' ';
    end if;
  end loop;
  if woken <> '' then
    perform pg_notify('wake', woken);
  end if;
  return answers;
end $$;

-- Reading functions are STABLE: all their queries see the snapshot of the one call, so that a turn which commits
-- meanwhile is seen either open or committed, never neither.

-- The runs after a cursor for many attached readers at once. A row is a run; n may lie before p_after
-- inside the first run, which the reader drops. Every run of a response expires with it, so that its expiry
-- names the one partition to look into. Of an expired one there is none to read, though it runs on.
create function app.read_streams(p_tenant uuid[], p_response text[], p_after integer[], p_limit integer)
returns table (place integer, first_n integer, n integer, events text) language plpgsql stable as $$
declare
  i integer;
  v_expires timestamptz;
begin
  for i in 1 .. cardinality(p_tenant) loop
    perform set_config('app.tenant_id', p_tenant[i]::text, true);
    select d.expires_at into v_expires from response_ids d
      where d.tenant_id = p_tenant[i] and d.id = p_response[i] and d.expires_at > now();
    return query
      select i, s.first_n, s.n, s.events from stream_runs s
      where s.tenant_id = p_tenant[i] and s.response_id = p_response[i] and s.expires_at = v_expires
        and s.first_n + s.n - 1 > p_after[i]
        and s.first_n >= coalesce((select max(b.first_n) from stream_runs b
              where b.tenant_id = p_tenant[i] and b.response_id = p_response[i] and b.expires_at = v_expires
                and b.first_n <= p_after[i] + 1), 0)
      order by s.first_n limit p_limit;
  end loop;
end $$;

-- Everything that decides what a principal may do in a tenant and, when given, in one of its spaces.
create function app.read_access(p_tenant uuid, p_principal uuid, p_space uuid) returns jsonb
language plpgsql stable as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  return (
    select jsonb_build_object(
      'tenant_status', t.status,
      'is_platform', t.is_platform,
      'principal_status', p.status,
      'principal_type', p.type,
      'space_found', exists (select from spaces s where s.tenant_id = p_tenant and s.id = p_space),
      'tenant_roles', to_jsonb(held.tenant_roles),
      'space_role', held.space_role,
      -- Those that are held: a tenant may have made hundreds.
      'custom_roles', (select coalesce(jsonb_object_agg(r.key, to_jsonb(r.permissions)), '{}') from roles r
                       where r.tenant_id = p_tenant and r.key = any (held.tenant_roles || held.space_role)))
    from tenants t join principals p on p.tenant_id = t.tenant_id and p.id = p_principal
    -- Found once: without the offset both lists are looked up wherever they stand.
    cross join lateral (
      select array(select a.role_key from role_assignments a
                   where a.tenant_id = p_tenant and a.principal_id = p_principal) as tenant_roles,
             (select m.role_key from space_members m
              where m.tenant_id = p_tenant and m.space_id = p_space and m.principal_id = p_principal) as space_role
      offset 0) held
    where t.tenant_id = p_tenant);
end $$;

-- What was asked of a response. It may be large and few readers show it, so read_response leaves it out.
create function app.read_request(p_tenant uuid, p_response text) returns jsonb language plpgsql stable as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  return (select r.request from responses r
    where r.tenant_id = p_tenant and r.id = p_response and r.expires_at > now());
end $$;

create function app.remove_outbox(p_tenant uuid, p_id uuid) returns void language plpgsql as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  delete from outbox where tenant_id = p_tenant and id = p_id;
end $$;

create function app.sum_usage(p_tenant uuid, p_response text) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'input_tokens', coalesce(sum(input_tokens), 0)::bigint,
    'cached_input_tokens', coalesce(sum(cached_input_tokens), 0)::bigint,
    'output_tokens', coalesce(sum(output_tokens), 0)::bigint,
    'reasoning_tokens', coalesce(sum(reasoning_tokens), 0)::bigint,
    'cost_pico_usd', coalesce(sum(cost_pico_usd), 0)::text)
  from usage_ledger where tenant_id = p_tenant and response_id = p_response and settled
$$;

-- Written at most once a minute per key, whatever the number of gateways.
create function app.note_key_use(p_tenant uuid, p_key uuid) returns void language plpgsql as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  update api_keys set last_used_at = now()
    where tenant_id = p_tenant and id = p_key
      and (last_used_at is null or last_used_at <= now() - interval '1 minute');
end $$;

do $$
declare
  f record;
begin
  for f in select p.oid::regprocedure as signature from pg_proc p where p.pronamespace = 'app'::regnamespace loop
    execute format('alter function %s owner to app_owner', f.signature);
    execute format('revoke all on function %s from public', f.signature);
    execute format('grant execute on function %s to app_rt, app_purge', f.signature);
  end loop;
end $$;

-- The doors between tenants: SECURITY DEFINER, ids only (and the credential's hash).
-- Always one row: an id that no key has gets a stand-in of the same size, which nothing matches and nobody may use, so
-- that the time of an answer does not tell which ids there are.
create function app.find_credential(p_key_id text)
returns table (tenant_id uuid, id uuid, principal_id uuid, secret_hash text, permissions text[], usable boolean, expires_in_ms double precision)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select coalesce(k.tenant_id, s.id), coalesce(k.id, s.id), coalesce(k.principal_id, s.id),
         coalesce(k.secret_hash, s.secret_hash), k.permissions,
         k.revoked_at is null and coalesce(k.expires_at, s.expires_at) > now(),
         extract(epoch from coalesce(k.expires_at, s.expires_at) - now()) * 1000
  from (values ('00000000-0000-0000-0000-000000000000'::uuid, repeat('-', 43), '2000-01-01'::timestamptz)) s (id, secret_hash, expires_at)
  left join public.api_keys k on k.key_id = p_key_id
$$;

-- Names and states of tenants for the platform's operators, newest first: ids of version 7 follow creation.
create function app.list_tenants(p_before uuid, p_limit integer)
returns table (tenant_id uuid, slug text, name text, status text, is_platform boolean, created_at text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select t.tenant_id, t.slug, t.name, t.status, t.is_platform,
         to_char(t.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  from public.tenants t where p_before is null or t.tenant_id < p_before
  order by t.tenant_id desc limit p_limit
$$;

-- Leases due rows for ten seconds, oldest first within a workflow.
create function app.claim_outbox(p_limit integer)
returns table (tenant_id uuid, id uuid, kind text, workflow_type text, workflow_id text, payload jsonb)
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  with due as (
    select o.tenant_id, o.id from public.outbox o
    where o.claimed_until < now()
      and not exists (select from public.outbox earlier
                      where earlier.tenant_id = o.tenant_id and earlier.workflow_id = o.workflow_id and earlier.id < o.id)
    order by o.id limit p_limit for update skip locked)
  update public.outbox o set claimed_until = now() + interval '10 seconds'
  from due where o.tenant_id = due.tenant_id and o.id = due.id
  returning o.tenant_id, o.id, o.kind, o.workflow_type, o.workflow_id, o.payload
$$;

create function app.outbox_age_seconds() returns double precision
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select coalesce(extract(epoch from now() - min(o.created_at)), 0) from public.outbox o
$$;

-- Responses whose content may go, by keyset in the order in which it was due: ended and expired, or deleted long enough
-- for attached readers to see their end.
create function app.list_expired(p_after timestamptz, p_after_id text, p_limit integer)
returns table (tenant_id uuid, response_id text, due text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select d.tenant_id, d.id, to_char(d.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') from (
    (select r.tenant_id, r.id, r.expires_at as at from public.responses r
      where r.expires_at <= now() and r.finished_at is not null and (r.expires_at, r.id) > (p_after, p_after_id)
      order by r.expires_at, r.id limit p_limit)
    union all
    (select r.tenant_id, r.id, r.deleted_at from public.responses r
      where r.deleted_at < now() - interval '15 seconds' and not (r.expires_at <= now() and r.finished_at is not null)
        and (r.deleted_at, r.id) > (p_after, p_after_id)
      order by r.deleted_at, r.id limit p_limit)) d
  order by d.at, d.id limit p_limit
$$;

-- Non-terminal responses old enough that their workflow must exist, by keyset. One that waits has none yet, unless
-- what it waits for is gone or has ended.
create function app.list_stale(p_after_created timestamptz, p_after_id text, p_limit integer)
returns table (tenant_id uuid, response_id text, status text, created_at text, queued_since timestamptz, deadline_at timestamptz, expired boolean, waits boolean, stranded boolean, listed_at timestamptz)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select r.tenant_id, r.id, r.status, to_char(r.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), r.queued_since, r.deadline_at, r.expires_at <= now(), r.waits_for is not null,
    r.waits_for is not null and p.id is null, now()
  from public.responses r left join public.responses p on p.tenant_id = r.tenant_id and p.id = r.waits_for and p.finished_at is null
  where r.finished_at is null and r.created_at < now() - interval '15 seconds'
    and (r.created_at, r.id) > (p_after_created, p_after_id)
  order by r.created_at, r.id limit p_limit
$$;

-- Ended responses with a call that was started and never settled, although no attempt at it can still run: an
-- attempt begins before the end and lasts ten minutes at most. Content out of reach is seen to by the purge.
create function app.list_lost_calls(p_after_tenant uuid, p_after_id text, p_limit integer)
returns table (tenant_id uuid, response_id text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select r.tenant_id, r.id from public.responses r
  where (r.tenant_id, r.id) in (select c.tenant_id, c.response_id from public.tool_calls c where c.status = 'started')
    and r.finished_at < now() - interval '12 minutes' and r.expires_at > now() and r.deleted_at is null
    and (r.tenant_id, r.id) > (p_after_tenant, p_after_id)
  order by r.tenant_id, r.id limit p_limit
$$;

-- Documents that have waited too long for their extraction.
create function app.list_unprocessed(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, document_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select d.tenant_id, d.id from public.documents d
  where d.status = 'processing' and d.created_at < now() - interval '30 seconds'
    and (d.tenant_id, d.id) > (p_after_tenant, p_after_id)
  order by d.tenant_id, d.id limit p_limit
$$;

do $$
declare
  f text;
begin
  foreach f in array array['find_credential(text)', 'list_tenants(uuid,integer)', 'claim_outbox(integer)', 'outbox_age_seconds()', 'list_expired(timestamptz,text,integer)',
    'list_stale(timestamptz,text,integer)', 'list_lost_calls(uuid,text,integer)', 'list_unprocessed(uuid,uuid,integer)'] loop
    execute format('alter function app.%s owner to app_system', f);
    execute format('revoke all on function app.%s from public', f);
    execute format('grant execute on function app.%s to app_rt, app_purge', f);
  end loop;
end $$;

-- Partitions: stream events by the day they expire, audit events (events-functions.sql) by the month of their uuid v7.

-- Until when responses are kept that were accepted so far: the days up to then want their partitions.
create function app.last_expiry() returns timestamptz
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select max(d.expires_at) from public.response_ids d
$$;
-- Whether a response that expired before p_before has not ended: it ends by what its stream said.
create function app.has_unfinished(p_before timestamptz) returns boolean
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select exists (select from public.responses r where r.finished_at is null and r.expires_at < p_before)
$$;
do $$
declare
  f text;
begin
  foreach f in array array['last_expiry()', 'has_unfinished(timestamptz)'] loop
    execute format('alter function app.%s owner to app_system', f);
    execute format('revoke all on function app.%s from public', f);
    execute format('grant execute on function app.%s to app_owner', f);
  end loop;
end $$;

-- The table is whole before it is attached: only the default partition has to be free for a moment then, which no writer
-- of a day that has its partition asks for, and not the parent, which every writer does.
create function app.add_stream_day(p_day date) returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp set timezone = 'UTC' as $$
declare
  part text := 'stream_runs_' || to_char(p_day, 'YYYYMMDD');
begin
  execute format('create table public.%I (like public.stream_runs including all)', part);
  execute format('alter table public.%I enable row level security, force row level security', part);
  execute format('alter table public.stream_runs attach partition public.%I for values from (%L) to (%L)',
    part, p_day::timestamptz, (p_day + 1)::timestamptz);
  return true;
exception when check_violation then
  -- the default partition already holds rows of this range: they stay there until they are purged
  return false;
end $$;
alter function app.add_stream_day(date) owner to app_owner;
revoke all on function app.add_stream_day(date) from public;

-- The days of streams that have a partition of their own.
create function app.stream_days() returns setof date language sql stable as $$
  select to_date(right(c.relname, 8), 'YYYYMMDD') from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'public.stream_runs'::regclass and c.relname ~ '^stream_runs_\d{8}$'
$$;
alter function app.stream_days() owner to app_owner;
revoke all on function app.stream_days() from public;

-- Frees the oldest day whose streams have expired. It is emptied first, which asks for that one table; an empty one is
-- dropped, which asks for the parent, and for a moment only. Says whether it did either.
create function app.drop_stream_day() returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp set timezone = 'UTC' as $$
declare
  old date := (select min(d) from app.stream_days() d);
  part text := 'stream_runs_' || to_char(old, 'YYYYMMDD');
begin
  if old is null or now() < (old + 1)::timestamptz + interval '1 hour' or app.has_unfinished((old + 1)::timestamptz) then
    return false;
  end if;
  if pg_relation_size(format('public.%I', part)) > 0 then
    execute format('truncate table public.%I', part);
  else
    execute format('drop table public.%I', part);
  end if;
  return true;
end $$;
alter function app.drop_stream_day() owner to app_owner;
revoke all on function app.drop_stream_day() from public;

-- One change of partitions, for a transaction of its own; says whether another may be due. What is to be made comes before
-- what is to go. Whoever is at it already is not waited for.
create function app.maintain_partitions() returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp set timezone = 'UTC' as $$
declare
  d date;
begin
  if not pg_try_advisory_xact_lock(hashtext('app.maintain_partitions')) then
    return false;
  end if;
  -- As far as retention reaches today, and two days on.
  for d in select current_date + n from generate_series(0,
      least(greatest(coalesce(app.last_expiry()::date - current_date, 0), 1), 400) + 2) n
      where current_date + n not in (select e from app.stream_days() e) order by n loop
    if app.add_stream_day(d) then
      return true;
    end if;
  end loop;
  if app.add_due_month() then
    return true;
  end if;
  return app.drop_stream_day();
end $$;
alter function app.maintain_partitions() owner to app_owner;
revoke all on function app.maintain_partitions() from public;
grant execute on function app.maintain_partitions() to app_purge;

-- Functions of the event log.

-- What was sealed of a name that has changed is not its sealed form any more.
create function app.drop_stale_names() returns trigger language plpgsql as $$
begin
  if new.name is distinct from old.name and new.sealed_name is not distinct from old.sealed_name then
    new.sealed_name := null;
  end if;
  if new.email is distinct from old.email and new.sealed_email is not distinct from old.sealed_email then
    new.sealed_email := null;
  end if;
  return new;
end $$;
create trigger stale_names before update of name, email on principals
  for each row execute function app.drop_stale_names();
create index principals_unsealed on principals (tenant_id, id)
  where (name is not null and sealed_name is null) or (email is not null and sealed_email is null);

-- The least id of version 7 at a moment; the nil id for a moment before all time.
create function app.first_id(p_at timestamptz) returns uuid language sql immutable as $$
  select (left(h, 8) || '-' || substr(h, 9, 4) || '-0000-0000-000000000000')::uuid
  from (select lpad(to_hex(case
    when p_at is null or p_at < '1970-01-01' then 0
    when p_at > '9999-01-01' then 281474976710655
    else ceil(extract(epoch from p_at) * 1000)::bigint end), 12, '0') as h) as t
$$;

-- Kinds of resources that have a handful of events each: those are counted by the index.
create function app.is_fleeting(p_resource_type text) returns boolean language sql immutable as $$
  select p_resource_type in ('response', 'document', 'sync_run')
$$;

-- The beginning of the month, day, hour or ten minutes (a grain) that a moment lies in. UTC's, whatever the server's zone.
create function app.floor_to(p_at timestamptz, p_grain text) returns timestamptz language sql stable as $$
  select case p_grain when '1 month' then date_trunc('month', p_at, 'UTC')
    else date_bin(p_grain::interval, p_at, timestamptz '2000-01-01 00:00+00') end
$$;

-- A window (p_high exclusive) as few rows of the counts as say it: of the coarsest of p_grains what is whole, of the next
-- what that leaves at its edges, and so on. What not even the last one has whole is left out.
create function app.cover_window(p_low timestamptz, p_high timestamptz, p_grains text[])
returns table (grain text, low timestamptz, high timestamptz) language plpgsql stable set timezone = 'UTC' as $$
begin
  if p_low >= p_high or p_grains = '{}' then
    return;
  end if;
  grain := p_grains[1];
  low := app.floor_to(p_low + grain::interval - interval '1 microsecond', grain);
  high := app.floor_to(p_high, grain);
  if low >= high then
    return query select * from app.cover_window(p_low, p_high, p_grains[2:]);
    return;
  end if;
  return next;
  return query select * from app.cover_window(p_low, low, p_grains[2:]);
  return query select * from app.cover_window(high, p_high, p_grains[2:]);
end $$;

-- Events by category (space, collection, security, system) from p_low to p_high (exclusive, null: without end),
-- exactly: whole ten minutes (for one resource, days) from the counts of sealed events and the few that are not sealed
-- yet, what the window cuts from the index. All in the snapshot of the calling statement.
create function app.count_events(
  p_tenant uuid, p_resource_type text, p_resource_id text, p_low timestamptz, p_high timestamptz
) returns bigint[] language plpgsql stable
set timezone = 'UTC' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  categories constant text[] := array['space', 'collection', 'security', 'system'];
  totals bigint[] := array[0, 0, 0, 0];
  chain event_chains;
  grains constant text[] := case when p_resource_id is null then array['1 month', '1 day', '1 hour', '10 minutes']
    else array['1 month', '1 day'] end;
  finest constant text := grains[cardinality(grains)];
  v_low timestamptz := coalesce(p_low, '-infinity');
  v_high timestamptz := coalesce(p_high, 'infinity');
  whole_low timestamptz;
  whole_high timestamptz;
  span record;
  found_row record;
begin
  select * into chain from event_chains c where c.tenant_id = p_tenant;
  if chain.retained_from > v_low then
    v_low := chain.retained_from;
  end if;
  whole_low := app.floor_to(v_low + finest::interval - interval '1 microsecond', finest);
  whole_high := app.floor_to(v_high, finest);
  if chain.tenant_id is null or whole_low >= whole_high or (p_resource_id is not null and not exists (
      select from event_resource_counts c where c.tenant_id = p_tenant and c.resource_id = p_resource_id)) then
    -- nothing of it is in the counts
    whole_low := v_high;
    whole_high := v_high;
  else
    for span in select * from app.cover_window(whole_low, whole_high, grains) loop
      if p_resource_id is null then
        for found_row in
          select array_position(categories, c.category) as place, sum(c.n)::bigint as n from event_counts c
          where c.tenant_id = p_tenant and c.grain = span.grain and c.starts_at >= span.low and c.starts_at < span.high
            and (p_resource_type is null or c.resource_type = p_resource_type)
          group by c.category
        loop
          totals[found_row.place] := totals[found_row.place] + found_row.n;
        end loop;
      else
        for found_row in
          select array_position(categories, c.category) as place, sum(c.n)::bigint as n from event_resource_counts c
          where c.tenant_id = p_tenant and c.resource_id = p_resource_id and c.grain = span.grain
            and c.starts_at >= span.low and c.starts_at < span.high
            and (p_resource_type is null or c.resource_type = p_resource_type)
          group by c.category
        loop
          totals[found_row.place] := totals[found_row.place] + found_row.n;
        end loop;
      end if;
    end loop;
    -- Only the order of sealing leads to these: every other condition would tempt the planner to another index,
    -- hence the conditions that no index answers.
    for found_row in
      select array_position(categories, e.category) as place, count(*) as n from events e
      where e.tenant_id = p_tenant
        and (e.transaction_id, e.id) > (chain.last_transaction_id, chain.last_event_id)
        and e.created_at >= whole_low and e.created_at < whole_high
        and (p_resource_type is null or e.resource_type || '' = p_resource_type)
        and (p_resource_id is null or e.resource_id || '' = p_resource_id)
      group by e.category
    loop
      totals[found_row.place] := totals[found_row.place] + found_row.n;
    end loop;
  end if;
  for span in select * from (values (v_low, whole_low), (whole_high, v_high)) as s (low, high) where low < high loop
    if p_resource_id is not null then
      for found_row in
        select o as place, (select count(*) from events e where e.tenant_id = p_tenant and e.resource_id = p_resource_id
            and e.category = c and e.id >= app.first_id(span.low) and e.id < app.first_id(span.high)
            and (p_resource_type is null or e.resource_type || '' = p_resource_type)) as n
        from unnest(categories) with ordinality as u (c, o)
      loop
        totals[found_row.place] := totals[found_row.place] + found_row.n;
      end loop;
    elsif p_resource_type is not null then
      for found_row in
        select o as place, (select count(*) from events e where e.tenant_id = p_tenant and e.resource_type = p_resource_type
            and e.category = c and e.id >= app.first_id(span.low) and e.id < app.first_id(span.high)) as n
        from unnest(categories) with ordinality as u (c, o)
      loop
        totals[found_row.place] := totals[found_row.place] + found_row.n;
      end loop;
    else
      for found_row in
        select o as place, (select count(*) from events e where e.tenant_id = p_tenant
            and e.category = c and e.id >= app.first_id(span.low) and e.id < app.first_id(span.high)) as n
        from unnest(categories) with ordinality as u (c, o)
      loop
        totals[found_row.place] := totals[found_row.place] + found_row.n;
      end loop;
    end if;
  end loop;
  return totals;
end $$;

-- One page, newest first, with the totals by category, all of one snapshot. Filters that are null do not filter;
-- p_after is the last id of the page before, p_low and p_high (exclusive) bound the creation.
create function app.list_events(
  p_tenant uuid, p_limit integer, p_after uuid, p_category text, p_resource_type text, p_resource_id text,
  p_low timestamptz, p_high timestamptz
) returns table (page jsonb, counts bigint[]) language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  wanted text[] := case when p_category is null then array['space', 'collection', 'security', 'system'] else array[p_category] end;
  v_from uuid;
  v_below uuid;
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  v_from := greatest(app.first_id(p_low),
    (select app.first_id(c.retained_from) from event_chains c where c.tenant_id = p_tenant));
  v_below := coalesce(least(p_after, case when p_high is not null then app.first_id(p_high) end),
    'ffffffff-ffff-ffff-ffff-ffffffffffff');
  if p_resource_id is not null then
    select jsonb_agg(to_jsonb(r) order by r.id desc) into page from (
      select e.* from unnest(wanted) as c cross join lateral (
        select * from events e where e.tenant_id = p_tenant and e.resource_id = p_resource_id and e.category = c
          and e.id >= v_from and e.id < v_below
          and (p_resource_type is null or e.resource_type || '' = p_resource_type)
        order by e.id desc limit p_limit) e
      order by e.id desc limit p_limit) r;
  elsif p_resource_type is not null then
    select jsonb_agg(to_jsonb(r) order by r.id desc) into page from (
      select e.* from unnest(wanted) as c cross join lateral (
        select * from events e where e.tenant_id = p_tenant and e.resource_type = p_resource_type and e.category = c
          and e.id >= v_from and e.id < v_below
        order by e.id desc limit p_limit) e
      order by e.id desc limit p_limit) r;
  elsif p_category is not null then
    select jsonb_agg(to_jsonb(r) order by r.id desc) into page from (
      select * from events e where e.tenant_id = p_tenant and e.category = p_category
        and e.id >= v_from and e.id < v_below
      order by e.id desc limit p_limit) r;
  else
    select jsonb_agg(to_jsonb(r) order by r.id desc) into page from (
      select * from events e where e.tenant_id = p_tenant and e.id >= v_from and e.id < v_below
      order by e.id desc limit p_limit) r;
  end if;
  page := coalesce(page, '[]');
  counts := app.count_events(p_tenant, p_resource_type, p_resource_id, p_low, p_high);
  return next;
end $$;

-- Exactly one event, unless retention has passed it.
create function app.read_event(p_tenant uuid, p_event uuid) returns jsonb language plpgsql stable as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  return (select to_jsonb(e) from events e where e.tenant_id = p_tenant and e.id = p_event
    and e.id >= coalesce((select app.first_id(c.retained_from) from event_chains c where c.tenant_id = p_tenant),
      '00000000-0000-0000-0000-000000000000'));
end $$;

-- Writes an event, with the name and the address of its actor as they are sealed at this moment. A function, so that a
-- connection plans it once. Returns its id.
create function app.record_event(
  p_tenant uuid, p_category text, p_event_type text, p_resource_type text, p_resource_id text, p_metadata jsonb, p_actor uuid
) returns uuid language plpgsql as $$
declare
  actor record;
  recorded uuid;
begin
  select p.sealed_name, p.sealed_email into actor from principals p where p.tenant_id = p_tenant and p.id = p_actor;
  insert into events (tenant_id, category, event_type, resource_type, resource_id, metadata, actor_id, actor_name, actor_email)
    values (p_tenant, p_category, p_event_type, p_resource_type, p_resource_id, p_metadata, p_actor,
      actor.sealed_name, actor.sealed_email)
    returning id into recorded;
  return recorded;
end $$;

do $$
declare
  f text;
begin
  foreach f in array array['drop_stale_names()', 'first_id(timestamptz)', 'is_fleeting(text)', 'floor_to(timestamptz,text)',
    'cover_window(timestamptz,timestamptz,text[])',
    'count_events(uuid,text,text,timestamptz,timestamptz)', 'list_events(uuid,integer,uuid,text,text,text,timestamptz,timestamptz)',
    'read_event(uuid,uuid)', 'record_event(uuid,text,text,text,text,jsonb,uuid)'] loop
    execute format('alter function app.%s owner to app_owner', f);
    execute format('revoke all on function app.%s from public', f);
    execute format('grant execute on function app.%s to app_rt, app_purge', f);
  end loop;
end $$;

-- Tenants with work for the sealing step: events that are not sealed, or names that are not.
create function app.list_unsealed() returns table (tenant_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select t.tenant_id from public.tenants t left join public.event_chains c on c.tenant_id = t.tenant_id
  where exists (select from public.events e where e.tenant_id = t.tenant_id
      and (e.transaction_id, e.id) > (coalesce(c.last_transaction_id, '0'::xid8),
        coalesce(c.last_event_id, '00000000-0000-0000-0000-000000000000')))
    or exists (select from public.principals p where p.tenant_id = t.tenant_id
      and ((p.name is not null and p.sealed_name is null) or (p.email is not null and p.sealed_email is null)))
$$;
-- The last position that the log has, in any tenant; null while it is empty.
create function app.last_log_position() returns xid8
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select max(position) from (
    select c.last_transaction_id from public.event_chains c
    union all
    select e.transaction_id from public.tenants t cross join lateral (
      select e.transaction_id from public.events e where e.tenant_id = t.tenant_id
      order by e.transaction_id desc, e.id desc limit 1) e) as known (position)
$$;

-- How far sealing is behind: events that are not sealed, and the age of the oldest.
create function app.sealing_lag() returns table (events bigint, oldest_seconds double precision)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select coalesce(sum(l.n), 0)::bigint, coalesce(extract(epoch from clock_timestamp() - min(l.oldest)), 0)::double precision
  from public.tenants t left join public.event_chains c on c.tenant_id = t.tenant_id
  cross join lateral (
    select count(*) as n, min(uuid_extract_timestamp(u.id)) as oldest from (
      select e.id from public.events e where e.tenant_id = t.tenant_id
        and (e.transaction_id, e.id) > (coalesce(c.last_transaction_id, '0'::xid8),
          coalesce(c.last_event_id, '00000000-0000-0000-0000-000000000000'))
      order by e.transaction_id, e.id limit 10000) u) l
$$;
-- Tenants with chains that keep something older than p_before.
create function app.list_event_tenants(p_before timestamptz) returns table (tenant_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select c.tenant_id from public.event_chains c where c.retained_from < p_before
$$;

-- Tenants with a chain, in the order of their ids.
create function app.list_chains(p_after uuid, p_limit integer) returns table (tenant_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select c.tenant_id from public.event_chains c where c.tenant_id > p_after order by c.tenant_id limit p_limit
$$;

do $$
declare
  f text;
begin
  foreach f in array array['last_log_position()', 'list_unsealed()', 'sealing_lag()', 'list_event_tenants(timestamptz)', 'list_chains(uuid,integer)'] loop
    execute format('alter function app.%s owner to app_system', f);
    execute format('revoke all on function app.%s from public', f);
    execute format('grant execute on function app.%s to app_rt, app_purge', f);
  end loop;
end $$;

-- The months of the log that have a partition of their own.
create function app.event_months() returns setof timestamptz language sql stable set timezone = 'UTC' as $$
  select to_date(right(c.relname, 6), 'YYYYMM')::timestamptz from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'public.events'::regclass and c.relname ~ '^events_\d{6}$'
$$;

-- Partitions without gap and default are read in the order of their ids, newest first, and no further than a page
-- reaches; with a default all of them would be looked into. What has no month yet waits in events_past and
-- events_future. Months change between these two functions.
create function app.open_event_months() returns void language plpgsql as $$
begin
  alter table public.events detach partition public.events_past;
  alter table public.events detach partition public.events_future;
end $$;
create function app.join_event_months() returns void language plpgsql set timezone = 'UTC' as $$
begin
  execute format('alter table public.events attach partition public.events_past for values from (minvalue) to (%L)',
    (select app.first_id(min(m)) from app.event_months() m));
  execute format('alter table public.events attach partition public.events_future for values from (%L) to (maxvalue)',
    (select app.first_id(max(m) + interval '1 month') from app.event_months() m));
end $$;

-- Gives a month its partition, and what waited for it.
create function app.add_event_month(p_month timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp set timezone = 'UTC' as $$
declare
  part text := 'events_' || to_char(p_month, 'YYYYMM');
  low uuid := app.first_id(p_month);
  high uuid := app.first_id(p_month + interval '1 month');
  columns constant text := 'tenant_id, id, category, event_type, actor_id, actor_name, actor_email, resource_type, resource_id, metadata, transaction_id';
  edge text;
begin
  perform app.open_event_months();
  execute format('create table public.%I partition of public.events for values from (%L) to (%L)', part, low, high);
  foreach edge in array array['events_past', 'events_future'] loop
    -- Not even their owner sees rows of a tenant.
    execute format('alter table public.%I no force row level security', edge);
    execute format('with moved as (delete from public.%1$I where id >= %2$L and id < %3$L returning %4$s)
      insert into public.%5$I (%4$s) select %4$s from moved', edge, low, high, columns, part);
    execute format('alter table public.%I force row level security', edge);
  end loop;
  execute format('alter table public.%I enable row level security, force row level security', part);
  perform app.join_event_months();
end $$;

-- Adds the oldest month that is due: one of a long stop, this one or the next. Says whether it added one.
create function app.add_due_month() returns boolean language plpgsql set timezone = 'UTC' as $$
declare
  this constant timestamptz := date_trunc('month', now());
  due timestamptz[] := array(
    select g from generate_series(least(this, (select max(e) from app.event_months() e)), this + interval '1 month',
      interval '1 month') g where g not in (select e from app.event_months() e) order by g);
begin
  if cardinality(due) > 0 then
    perform app.add_event_month(due[1]);
  end if;
  return cardinality(due) > 0;
end $$;

do $$
declare
  f text;
begin
  foreach f in array array['event_months()', 'open_event_months()', 'join_event_months()', 'add_event_month(timestamptz)',
    'add_due_month()'] loop
    execute format('alter function app.%s owner to app_owner', f);
    execute format('revoke all on function app.%s from public', f);
  end loop;
end $$;

-- Drops the months of the log that end at or before p_before. Their seals and counts have gone, tenant by tenant.
create function app.drop_event_months(p_before timestamptz) returns integer
language plpgsql security definer set search_path = pg_catalog, public, pg_temp set timezone = 'UTC' as $$
declare
  old text;
  dropped integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('app.maintain_partitions')) then
    return 0;
  end if;
  for old in select 'events_' || to_char(m, 'YYYYMM') from app.event_months() m where m + interval '1 month' <= p_before loop
    if dropped = 0 then
      perform app.open_event_months();
    end if;
    execute format('drop table public.%I', old);
    dropped := dropped + 1;
  end loop;
  if dropped > 0 then
    perform app.join_event_months();
  end if;
  return dropped;
end $$;
alter function app.drop_event_months(timestamptz) owner to app_owner;
revoke all on function app.drop_event_months(timestamptz) from public;
grant execute on function app.drop_event_months(timestamptz) to app_purge;

-- Pending invites whose time is over.
create function app.list_due_invites(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, invite_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select i.tenant_id, i.id from public.invites i
  where i.status = 'pending' and i.expires_at <= now() and (i.tenant_id, i.id) > (p_after_tenant, p_after_id)
  order by i.tenant_id, i.id limit p_limit
$$;
alter function app.list_due_invites(uuid, uuid, integer) owner to app_system;
revoke all on function app.list_due_invites(uuid, uuid, integer) from public;
grant execute on function app.list_due_invites(uuid, uuid, integer) to app_rt, app_purge;
create policy system on invites for select to app_system using (true);
grant select (tenant_id, id, status, expires_at) on invites to app_system;

-- The doors of sign-in: whoever knocks has no tenant yet. Ids only, by the keyed hash of what was sent.
create function app.find_login_transaction(p_kind text, p_hash text) returns table (tenant_id uuid, id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select t.tenant_id, t.id from public.login_transactions t where p_kind = 'state' and t.state_hash = p_hash
  union all
  select t.tenant_id, t.id from public.login_transactions t where p_kind = 'nonce' and t.nonce_hash = p_hash
  union all
  select t.tenant_id, t.id from public.login_transactions t where p_kind = 'handle' and t.handle_hash = p_hash
$$;

-- Providers with this id or slug, of the tenant that is named or of any; two mean that it has to be named.
create function app.find_identity_provider(p_tenant uuid, p_id uuid, p_slug text) returns table (tenant_id uuid, id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select i.tenant_id, i.id from public.identity_providers i
  where i.id = p_id and (p_tenant is null or i.tenant_id = p_tenant)
  union
  select i.tenant_id, i.id from public.identity_providers i
  where i.slug = p_slug and (p_tenant is null or i.tenant_id = p_tenant)
  limit 2
$$;

create function app.find_token(p_hash text)
returns table (tenant_id uuid, id uuid, session_id uuid, principal_id uuid, kind text, expired boolean, ended boolean)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select k.tenant_id, k.id, k.session_id, s.principal_id, k.kind,
         k.expires_at <= now() or s.expires_at <= now(),
         s.ended_at is not null
  from public.session_tokens k join public.sessions s on s.tenant_id = k.tenant_id and s.id = k.session_id
  where k.token_hash = p_hash
$$;

do $$
declare
  f text;
begin
  foreach f in array array['find_login_transaction(text,text)', 'find_identity_provider(uuid,uuid,text)', 'find_token(text)'] loop
    execute format('alter function app.%s owner to app_system', f);
    execute format('revoke all on function app.%s from public', f);
    execute format('grant execute on function app.%s to app_rt, app_purge', f);
  end loop;
end $$;

create policy system on identity_providers for select to app_system using (true);
create policy system on login_transactions for select to app_system using (true);
create policy system on session_tokens for select to app_system using (true);
create policy system on sessions for select to app_system using (true);
create policy system on used_id_tokens for select to app_system using (true);
grant select (tenant_id, id, slug) on identity_providers to app_system;
grant select (tenant_id, id, state_hash, nonce_hash, handle_hash, expires_at) on login_transactions to app_system;
grant select (tenant_id, id, session_id, kind, token_hash, expires_at) on session_tokens to app_system;
grant select (tenant_id, id, principal_id, expires_at, ended_at) on sessions to app_system;
grant select (tenant_id, expires_at) on used_id_tokens to app_system;

-- Threads that were deleted, whatever their tenant: what is purged next.
create function app.list_deleted_threads(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, thread_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select t.tenant_id, t.id from public.threads t
  where t.status = 'deleted' and (t.tenant_id, t.id) > (p_after_tenant, p_after_id)
  order by t.tenant_id, t.id limit p_limit
$$;
alter function app.list_deleted_threads(uuid, uuid, integer) owner to app_system;
revoke all on function app.list_deleted_threads(uuid, uuid, integer) from public;
grant execute on function app.list_deleted_threads(uuid, uuid, integer) to app_rt, app_purge;

-- The tenancy wall. app_owner owns and never logs in, app_rt serves, app_purge deletes,
-- app_system owns the few functions that look across tenants.
do $$
declare
  t text;
  mine constant text := $p$tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid$p$;
begin
  for t in
    select c.relname from pg_class c join pg_namespace s on s.oid = c.relnamespace
    where s.nspname = 'public' and c.relkind in ('r', 'p')
      and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id')
  loop
    execute format('alter table %I owner to app_owner', t);
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    -- Content of a response is out of reach for the runtime role the moment it expires or is deleted
    -- (>= lets the deleting transaction itself keep sight of its row, as it does the ending one). One that has not
    -- ended stays in sight with its events, so that it ends by what it said and lets others begin: whoever reads or
    -- writes content looks at its expiry.
    execute format('create policy runtime on %I to app_rt using (%s) with check (%s)', t,
      mine || case t when 'responses' then ' and (expires_at > now() or finished_at is null or finished_at >= date_trunc(''milliseconds'', now())) and (deleted_at is null or deleted_at >= now())'
                     when 'stream_runs' then ' and (expires_at > now() or exists (select from responses r where r.tenant_id = stream_runs.tenant_id and r.id = stream_runs.response_id))' else '' end,
      mine);
    execute format('create policy purge on %I to app_purge using (%s) with check (%s)', t, mine, mine);
    execute format('grant select, insert, update, delete on %I to app_rt, app_purge', t);
  end loop;
end $$;

-- Append-only tables: the runtime role inserts and reads.
revoke update on data_keys, redactions from app_rt;
revoke update, delete on events, event_dedupe, model_prices, response_context, messages, thread_branches from app_rt;
revoke delete on responses, response_ids, items, usage_ledger, tenants, principals, threads, redactions from app_rt;

create function app.refuse_change() returns trigger language plpgsql as $$
begin
  if current_user = 'app_purge' and tg_op = 'DELETE' then
    return old;
  end if;
  raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end $$;
create trigger append_only before update or delete on events for each row execute function app.refuse_change();
create trigger append_only before update or delete on model_prices for each row execute function app.refuse_change();

-- What the functions of app_system may see, and nothing else.
create policy system on api_keys for select to app_system using (true);
create policy system on tenants for select to app_system using (true);
create policy system on outbox to app_system using (true) with check (true);
create policy system on responses for select to app_system using (true);
create policy system on response_ids for select to app_system using (true);
create policy system on idempotency_keys for select to app_system using (true);
create policy system on event_dedupe for select to app_system using (true);
create policy system on documents for select to app_system using (true);
create policy system on tool_calls for select to app_system using (true);
create policy system on threads for select to app_system using (true);
grant select (tenant_id, id, key_id, secret_hash, principal_id, permissions, expires_at, revoked_at) on api_keys to app_system;
grant select (tenant_id, slug, name, status, is_platform, created_at) on tenants to app_system;
grant select, update on outbox to app_system;
grant select (tenant_id, id, status, created_at, started_at, deadline_at, finished_at, expires_at, deleted_at, waits_for, queued_since) on responses to app_system;
grant select (tenant_id, id, expires_at) on response_ids to app_system;
grant select (tenant_id, principal_id, expires_at) on idempotency_keys to app_system;
grant select (tenant_id, created_at) on event_dedupe to app_system;
grant select (tenant_id, id, status, created_at) on documents to app_system;
grant select (tenant_id, response_id, status) on tool_calls to app_system;
grant select (tenant_id, id, status) on threads to app_system;

-- The sealing step works as app_purge: who serves requests reads the chain and its counts and writes neither.
revoke insert, update, delete on event_chains, event_seals, event_counts, event_resource_counts from app_rt;

create policy system on events for select to app_system using (true);
create policy system on event_chains for select to app_system using (true);
create policy system on principals for select to app_system using (true);
grant select (tenant_id, id, transaction_id) on events to app_system;
grant select (tenant_id, last_transaction_id, last_event_id, retained_from) on event_chains to app_system;
grant select (tenant_id, name, email, sealed_name, sealed_email) on principals to app_system;

-- The runtime role reaches them through their parent alone; the purge role takes from events_past what never had a month.
revoke all on events_past, events_future from app_rt;
revoke all on events_future from app_purge;
revoke insert, update on events_past from app_purge;


-- Fan-outs old enough that their workflow must exist, by keyset.
create function app.list_unfinished_fan_outs(p_after_created timestamptz, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, event_id uuid, created_at text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select f.tenant_id, f.event_id, to_char(f.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
  from public.fan_outs f
  where f.created_at < now() - interval '30 seconds' and (f.created_at, f.event_id) > (p_after_created, p_after_id)
  order by f.created_at, f.event_id limit p_limit
$$;

-- What the doors of notifications may see: ids and times.
do $$
declare
  f text;
begin
  foreach f in array array['list_unfinished_fan_outs(timestamptz,uuid,integer)'] loop
    execute format('alter function app.%s owner to app_system', f);
    execute format('revoke all on function app.%s from public', f);
    execute format('grant execute on function app.%s to app_rt, app_purge', f);
  end loop;
end $$;
create policy system on fan_outs for select to app_system using (true);
create policy system on notifications for select to app_system using (true);
create policy system on notified_periods for select to app_system using (true);
grant select (tenant_id, event_id, event_type, created_at) on fan_outs to app_system;
grant select (tenant_id, created_at) on notifications, notified_periods to app_system;
revoke delete on notifications from app_rt;

-- When each sweep was last due and when it last succeeded. Of no tenant: names and times only.
create table app.sweeps (
  name text primary key,
  taken_at timestamptz not null default '-infinity',
  succeeded_at timestamptz not null default now()
);
alter table app.sweeps owner to app_owner;
grant select, insert, update on app.sweeps to app_rt;

-- Takes those that are due for the caller alone, and says how long until the next one is.
create function app.take_due_sweeps(p_names text[], p_every double precision[], out due text[], out wait_seconds double precision)
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  if exists (select unnest(p_names) except select name from app.sweeps) then
    insert into app.sweeps (name) select unnest(p_names) on conflict do nothing;
  end if;
  with plan as (select * from unnest(p_names, p_every) as p(name, every)),
  ripe as (
    select s.name from app.sweeps s join plan p on p.name = s.name
    where s.taken_at + make_interval(secs => p.every) <= clock_timestamp() for update of s skip locked),
  taken as (
    update app.sweeps s set taken_at = clock_timestamp() from ripe r where s.name = r.name returning s.name)
  select coalesce(array_agg(t.name), '{}') into due from taken t;
  select greatest(extract(epoch from min(s.taken_at + make_interval(secs => p.every)) - clock_timestamp()), 0) into wait_seconds
  from app.sweeps s join unnest(p_names, p_every) as p(name, every) on p.name = s.name;
end $$;
alter function app.take_due_sweeps(text[], double precision[]) owner to app_owner;
revoke all on function app.take_due_sweeps(text[], double precision[]) from public;
grant execute on function app.take_due_sweeps(text[], double precision[]) to app_rt;

-- The oldest rows of a table from a time on, as one stretch of time for each tenant that has any. It tells tenants and
-- times of tables whose times app_system may see, and of no other.
create function app.list_aged_rows(p_table text, p_column text, p_kept interval, p_from timestamptz, p_limit integer)
returns table (tenant_id uuid, low timestamptz, high timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  return query execute format(
    'select r.tenant_id, min(r.at), max(r.at) from (
       select a.tenant_id, a.%1$I as at from public.%2$I a where a.%1$I >= $1 and a.%1$I < now() - $2
       order by a.%1$I limit $3) r group by 1', p_column, p_table) using p_from, p_kept, p_limit;
end $$;
alter function app.list_aged_rows(text, text, interval, timestamptz, integer) owner to app_system;
revoke all on function app.list_aged_rows(text, text, interval, timestamptz, integer) from public;
grant execute on function app.list_aged_rows(text, text, interval, timestamptz, integer) to app_rt, app_purge;

-- The next items in the order of their key, as one stretch for each tenant that has any of them, and how many of them no
-- response refers to. It tells ids only.
create policy system on items for select to app_system using (true);
create policy system on response_context for select to app_system using (true);
grant select (tenant_id, id, response_id) on items to app_system;
grant select (tenant_id, item_id) on response_context to app_system;
create function app.list_orphans(p_after_tenant uuid, p_after_id text, p_limit integer)
returns table (tenant_id uuid, first_id text, last_id text, orphans integer)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select i.tenant_id, min(i.id), max(i.id), count(*) filter (where
      not exists (select from public.responses r where r.tenant_id = i.tenant_id and r.id = i.response_id)
      and not exists (select from public.response_context c where c.tenant_id = i.tenant_id and c.item_id = i.id))::integer
  from (select n.tenant_id, n.id, n.response_id from public.items n where (n.tenant_id, n.id) > (p_after_tenant, p_after_id)
    order by n.tenant_id, n.id limit p_limit) i
  group by i.tenant_id order by i.tenant_id
$$;
alter function app.list_orphans(uuid, text, integer) owner to app_system;
revoke all on function app.list_orphans(uuid, text, integer) from public;
grant execute on function app.list_orphans(uuid, text, integer) to app_rt, app_purge;
