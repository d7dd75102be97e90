-- Registrations that nothing refers to any more are purged by their age.
create index on authorization_clients (created_at);
select pg_temp.show_to_system('authorization_clients', 'tenant_id, created_at');
