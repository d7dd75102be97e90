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
