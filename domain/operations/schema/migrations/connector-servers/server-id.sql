-- The scope names the server; the column follows it by itself, so that the foreign key holds for every writer.
alter table connectors add column server_id uuid
  generated always as (case when provider_slug = 'mcp' then (scope_config ->> 'server_id')::uuid end) stored;
alter table connectors add foreign key (tenant_id, server_id) references mcp_servers;
create index on connectors (tenant_id, server_id);
