-- Names and hashes of the tools that the account of a connection was listed; null: not read yet.
alter table mcp_connections add column listed_tools jsonb;
