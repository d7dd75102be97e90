-- Models that turn text into vectors. Each tenant has the builtin one.
create table embedding_models (
  tenant_id uuid not null references tenants,
  id uuid not null,
  alias text not null,
  provider_kind text not null check (provider_kind in ('builtin', 'openai', 'google', 'openai_compatible')),
  provider_model text not null,
  base_url text,
  -- stored here: the gateway, which embeds questions, has no vendor's key in its environment
  credential_id uuid,
  dims integer not null check (dims between 8 and 4096),
  max_tokens integer not null check (max_tokens between 16 and 1000000),
  -- how vectors of tokens become one; null: the provider decides
  pooling text check (pooling in ('cls', 'mean')),
  query_prefix text not null default '',
  passage_prefix text not null default '',
  micro_usd_per_million bigint not null default 0 check (micro_usd_per_million >= 0),
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, alias),
  foreign key (tenant_id, credential_id) references credentials
);
create index on embedding_models (tenant_id, created_at desc, id desc);
create index on embedding_models (tenant_id, credential_id);

-- The vectors of a space by one model. Searches use the active ones; others are built in the background or dropped.
create table embedding_generations (
  tenant_id uuid not null references tenants,
  id uuid not null,
  space_id uuid not null,
  model_id uuid not null,
  state text not null check (state in ('building', 'active', 'retired', 'cancelled')),
  -- float32, little-endian: subtracted from each vector before its signs are taken
  mean bytea not null,
  -- building: documents up to here have their vectors
  done_through uuid,
  documents_done integer not null default 0,
  documents_total integer not null default 0,
  -- why the last step did not succeed
  last_error text,
  created_at timestamptz not null default now(),
  activated_at timestamptz,
  ended_at timestamptz,
  primary key (tenant_id, id),
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, model_id) references embedding_models
);
create unique index embedding_generations_active on embedding_generations (tenant_id, space_id) where state = 'active';
create unique index embedding_generations_building on embedding_generations (tenant_id, space_id) where state = 'building';
create index on embedding_generations (tenant_id, space_id, created_at desc, id desc);
create index on embedding_generations (tenant_id, model_id);
create index embedding_generations_ended on embedding_generations (tenant_id, id) where state in ('retired', 'cancelled');

alter table chunks add column page integer, add column anchor text;

-- Narrow, for the scan of a search: one bit for each dimension.
create table chunk_vectors (
  tenant_id uuid not null references tenants,
  embedding_id uuid not null,
  collection_id uuid not null,
  document_id uuid not null,
  generation integer not null,
  position integer not null,
  bits bit varying not null,
  primary key (tenant_id, embedding_id, collection_id, document_id, generation, position),
  foreign key (tenant_id, embedding_id) references embedding_generations,
  foreign key (tenant_id, document_id, generation, position) references chunks on delete cascade,
  foreign key (tenant_id, collection_id) references collections on delete cascade
);
create index on chunk_vectors (tenant_id, document_id, generation, position);
create index on chunk_vectors (tenant_id, collection_id);

-- For the second look at the best of the scan: int8 for each dimension. Equal texts share their vector.
create table chunk_embeddings (
  tenant_id uuid not null references tenants,
  embedding_id uuid not null,
  document_id uuid not null,
  generation integer not null,
  position integer not null,
  text_hash bytea not null,
  vector bytea not null,
  primary key (tenant_id, embedding_id, document_id, generation, position),
  foreign key (tenant_id, embedding_id) references embedding_generations,
  foreign key (tenant_id, document_id, generation, position) references chunks on delete cascade
);
alter table chunk_embeddings alter column vector set storage plain;
create index on chunk_embeddings (tenant_id, document_id, generation, position);
create index chunk_embeddings_text_hash on chunk_embeddings (tenant_id, embedding_id, text_hash);

-- Append-only: tokens that were embedded.
create table embedding_usage (
  tenant_id uuid not null references tenants,
  id uuid not null,
  space_id uuid not null,
  model_id uuid not null,
  purpose text not null check (purpose in ('passages', 'query')),
  input_tokens bigint not null,
  cost_pico_usd bigint not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, model_id) references embedding_models
);
create index on embedding_usage (tenant_id, space_id, created_at desc, id desc);
create index on embedding_usage (tenant_id, model_id);

-- The extractor knows more types than a constraint would list.
alter table documents drop constraint documents_media_type_check;
alter table documents
  -- the run of the workflow that stored the current passages
  add column ingested_by text,
  add column embedded_count integer not null default 0,
  -- why the model embeds the document only in part; null otherwise
  add column embedding_error text,
  -- the active generation lacks vectors of the document
  add column embedding_pending boolean not null default false;
update documents set embedding_pending = true where chunk_count > 0;
-- Statistics of a collection are counted in the index alone.
create index documents_statistics on documents (tenant_id, collection_id, status) include (byte_size);
create index documents_embedding_pending on documents (tenant_id, collection_id, id) where embedding_pending;

-- The bodies of trigger functions stand in ../functions/.
create function app.add_builtin_embedding_model() returns trigger language plpgsql as 'begin return null; end';
create trigger add_builtin_embedding_model after insert on tenants
  for each row execute function app.add_builtin_embedding_model();
insert into embedding_models (tenant_id, id, alias, provider_kind, provider_model, dims, max_tokens, pooling, query_prefix)
select tenant_id, gen_random_uuid(), 'builtin', 'builtin', 'bge-small-en-v1.5', 384, 512, 'cls',
  'Represent this sentence for searching relevant passages: '
from tenants;

select pg_temp.secure_tenant_table('embedding_models'), pg_temp.secure_tenant_table('embedding_generations'),
  pg_temp.secure_tenant_table('chunk_vectors'), pg_temp.secure_tenant_table('chunk_embeddings'),
  pg_temp.secure_tenant_table('embedding_usage');
revoke delete on embedding_models, embedding_generations, embedding_usage from app_rt;
revoke update on embedding_usage, chunk_vectors, chunk_embeddings from app_rt, app_purge;

-- What the sweeps look for: ids only.
select pg_temp.show_to_system('embedding_generations', 'tenant_id, id, space_id, state, ended_at');
select pg_temp.show_to_system('collections', 'tenant_id, id, space_id');
grant select (embedding_pending, collection_id) on documents to app_system;
