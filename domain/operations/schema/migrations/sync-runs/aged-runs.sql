-- For the sweep that deletes old runs.
create index on sync_runs (created_at);
select pg_temp.show_to_system('sync_runs', 'tenant_id, created_at');
