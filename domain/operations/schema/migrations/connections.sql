-- Authorization of tool servers with OAuth; see domain/capabilities/connections.
alter table mcp_servers
  add column connection_mode text not null default 'none' check (connection_mode in ('none', 'personal', 'shared')),
  -- sent as the resource indicator instead of what the server's metadata names
  add column connection_resource text,
  -- the client that is registered with the authorization server
  add column client_credential_id uuid,
  -- of the server's last refusal: address of its metadata, scopes
  add column challenge jsonb,
  add foreign key (tenant_id, client_credential_id) references credentials,
  add check (connection_mode = 'none' or (credential_ref is null and credential_id is null)),
  add check (connection_mode <> 'none' or client_credential_id is null);
create index on mcp_servers (tenant_id, client_credential_id);

-- This platform as a client of an authorization server.
create table authorization_clients (
  tenant_id uuid not null references tenants,
  id uuid not null,
  issuer text not null,
  redirect_uri text not null,
  kind text not null check (kind in ('metadata_document', 'dynamic')),
  client_id text not null,
  auth_method text check (auth_method in ('client_secret_basic', 'client_secret_post', 'none', 'private_key_jwt')),
  -- sealed; null: a public client
  secret text,
  secret_expires_at timestamptz,
  -- when the authorization server refused it: another one is registered for the next connection
  rejected_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);
create unique index authorization_clients_usable on authorization_clients (tenant_id, issuer, redirect_uri)
  where rejected_at is null;

create table mcp_connections (
  tenant_id uuid not null references tenants,
  id uuid not null,
  -- null: the server was removed; its tokens are still to be revoked
  server_id uuid,
  space_id uuid not null,
  -- the principal for whom alone it is used; null: shared by the space
  owner_id uuid,
  connected_by uuid not null,
  status text not null
    check (status in ('auth_required', 'pending', 'connected', 'auth_expired', 'scope_required', 'client_rejected', 'revoked')),
  issuer text not null,
  resource text,
  requested_scope text,
  granted_scope text,
  -- of the challenge of a refused call; null: none was refused
  required_scope text,
  target jsonb not null,
  client_id uuid,
  client_credential_id uuid,
  -- sealed; null: erased
  tokens text,
  expires_at timestamptz,
  -- seconds for which the access token was issued; null: the server did not say
  token_lifetime integer,
  -- counts the tokens that it has had; a withdrawal raises it, too
  generation integer not null default 1,
  -- the refresh that is under way
  lease_nonce uuid,
  lease_until timestamptz,
  -- refreshes that failed since the last that succeeded, and when the next may be sent
  refresh_failures integer not null default 0,
  refresh_after timestamptz,
  withdrawn_at timestamptz,
  -- when the revocation is tried next
  revoke_at timestamptz,
  revocations integer not null default 0,
  connected_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, server_id) references mcp_servers on delete set null (server_id),
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, owner_id) references principals,
  foreign key (tenant_id, connected_by) references principals,
  foreign key (tenant_id, client_id) references authorization_clients on delete set null (client_id),
  foreign key (tenant_id, client_credential_id) references credentials on delete set null (client_credential_id),
  check ((withdrawn_at is null) = (revoke_at is null)),
  check ((withdrawn_at is null) = (status <> 'revoked'))
);
create unique index mcp_connections_current on mcp_connections (tenant_id, server_id, owner_id) nulls not distinct
  where withdrawn_at is null and server_id is not null;
create index on mcp_connections (tenant_id, server_id, created_at desc, id desc);
create index on mcp_connections (tenant_id, space_id);
create index on mcp_connections (tenant_id, owner_id);
create index on mcp_connections (tenant_id, connected_by);
create index on mcp_connections (tenant_id, client_id);
create index on mcp_connections (tenant_id, client_credential_id);
create index on mcp_connections (tenant_id, id, revoke_at) where revoke_at is not null;
-- those of removed servers
create index on mcp_connections (tenant_id, id) where server_id is null and withdrawn_at is null;
create index on principals (tenant_id, id) where status <> 'active';

-- One run of the popup. Of nonce, state, cookie and handle only keyed hashes are stored; verifier and code are sealed.
create table authorization_attempts (
  tenant_id uuid not null references tenants,
  id uuid not null,
  server_id uuid not null,
  space_id uuid not null,
  initiator_id uuid not null,
  -- the session or the key of the initiator, which completes it
  session_id uuid,
  api_key_id uuid,
  owner_id uuid,
  redirect_uri text not null,
  callback_uri text not null,
  issuer text not null,
  target jsonb not null,
  scope text,
  client_id uuid,
  client_credential_id uuid,
  nonce_hash text not null,
  cookie_hash text,
  state_hash text,
  handle_hash text,
  verifier text,
  code text,
  code_issuer text,
  stage text not null default 'begun' check (stage in ('begun', 'opened', 'continued', 'returned', 'exchanging', 'ended')),
  end_reason text,
  expires_at timestamptz not null,
  handle_expires_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, server_id) references mcp_servers on delete cascade,
  foreign key (tenant_id, space_id) references spaces,
  foreign key (tenant_id, initiator_id) references principals,
  foreign key (tenant_id, owner_id) references principals,
  foreign key (tenant_id, client_id) references authorization_clients on delete cascade,
  foreign key (tenant_id, client_credential_id) references credentials on delete cascade,
  check ((stage = 'ended') = (end_reason is not null))
);
create index on authorization_attempts (tenant_id, server_id, initiator_id);
create index on authorization_attempts (tenant_id, space_id);
create index on authorization_attempts (tenant_id, initiator_id);
create index on authorization_attempts (tenant_id, owner_id);
create index on authorization_attempts (tenant_id, client_id);
create index on authorization_attempts (tenant_id, client_credential_id);
create index on authorization_attempts (nonce_hash);
create index on authorization_attempts (state_hash) where state_hash is not null;
create index on authorization_attempts (handle_hash) where handle_hash is not null;
create index on authorization_attempts (expires_at);

select pg_temp.secure_tenant_table('authorization_clients');
select pg_temp.secure_tenant_table('mcp_connections');
select pg_temp.secure_tenant_table('authorization_attempts');
select pg_temp.show_to_system('authorization_attempts', 'tenant_id, id, nonce_hash, state_hash, stage, expires_at');
select pg_temp.show_to_system('mcp_connections', 'tenant_id, id, server_id, owner_id, withdrawn_at, revoke_at');
select pg_temp.show_to_system('mcp_servers', 'tenant_id, id, connection_mode');
grant select (id, status) on principals to app_system;
