-- Models that judge how well a passage answers a question.
create table reranking_models (
  tenant_id uuid not null references tenants,
  id uuid not null,
  alias text not null,
  provider_kind text not null check (provider_kind in
    ('cohere', 'jina', 'voyage', 'rerank_compatible', 'text_embeddings_inference')),
  provider_model text not null,
  base_url text,
  -- stored here: the gateway has no vendor's key in its environment
  credential_id uuid,
  -- of a question and a passage together
  max_tokens integer not null check (max_tokens between 64 and 1000000),
  -- what the model's scores are
  score_scale text not null check (score_scale in ('probability', 'cosine', 'logit')),
  micro_usd_per_million bigint not null default 0 check (micro_usd_per_million >= 0),
  micro_usd_per_thousand_searches bigint not null default 0 check (micro_usd_per_thousand_searches >= 0),
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  primary key (tenant_id, id),
  unique (tenant_id, alias),
  foreign key (tenant_id, credential_id) references credentials
);
create index on reranking_models (tenant_id, created_at desc, id desc);
create index on reranking_models (tenant_id, credential_id);

-- The model whose order the searches of a space have.
create table space_reranking (
  tenant_id uuid not null references tenants,
  space_id uuid not null,
  model_id uuid not null,
  -- whether searches that do not ask for it are reranked
  by_default boolean not null default true,
  chosen_at timestamptz not null default now(),
  primary key (tenant_id, space_id),
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, model_id) references reranking_models
);
create index on space_reranking (tenant_id, model_id);

-- Append-only: passages that were judged.
create table reranking_usage (
  tenant_id uuid not null references tenants,
  id uuid not null,
  space_id uuid not null,
  model_id uuid not null,
  passages integer not null,
  input_tokens bigint not null,
  searches integer not null,
  cost_pico_usd bigint not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, model_id) references reranking_models
);
create index on reranking_usage (tenant_id, space_id, created_at desc, id desc);
create index on reranking_usage (tenant_id, model_id);

select pg_temp.secure_tenant_table('reranking_models'), pg_temp.secure_tenant_table('space_reranking'),
  pg_temp.secure_tenant_table('reranking_usage');
revoke delete on reranking_models, reranking_usage from app_rt;
revoke update on reranking_usage from app_rt, app_purge;
