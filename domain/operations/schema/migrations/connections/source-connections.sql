-- Sources that are authorized by a connection; see domain/knowledge/source-connections.
alter table connectors
  -- the client that is registered with the source's authorization server; null: it is read without a connection
  add column client_credential_id uuid,
  add foreign key (tenant_id, client_credential_id) references credentials,
  add check (client_credential_id is null or credential_id is null);
create index on connectors (tenant_id, client_credential_id);

alter table mcp_connections
  -- null, like the server: the connector was deleted
  add column connector_id uuid,
  add foreign key (tenant_id, connector_id) references connectors on delete set null (connector_id),
  add check (server_id is null or connector_id is null),
  add check (connector_id is null or owner_id is null);
create unique index mcp_connections_of_connector on mcp_connections (tenant_id, connector_id)
  where withdrawn_at is null and connector_id is not null;
create index on mcp_connections (tenant_id, connector_id);
create index mcp_connections_without_holder on mcp_connections (tenant_id, id)
  where server_id is null and connector_id is null and withdrawn_at is null;

alter table authorization_attempts
  alter column server_id drop not null,
  add column connector_id uuid,
  add foreign key (tenant_id, connector_id) references connectors on delete cascade,
  add check ((server_id is null) <> (connector_id is null));
create index on authorization_attempts (tenant_id, connector_id, initiator_id);

grant select (connector_id) on mcp_connections to app_system;
