-- Roles are cluster-wide; the migrator holds an advisory lock of the database `postgres` while this runs.
do $$
begin
  if not exists (select from pg_roles where rolname = 'app_owner') then create role app_owner nologin; end if;
  if not exists (select from pg_roles where rolname = 'app_system') then create role app_system nologin; end if;
  if not exists (select from pg_roles where rolname = 'app_rt') then create role app_rt login; end if;
  if not exists (select from pg_roles where rolname = 'app_purge') then create role app_purge login; end if;
  if not exists (select from pg_roles where rolname = 'app_verifier') then create role app_verifier login; end if;
end $$;
create schema if not exists app;
grant usage on schema app, public to app_rt, app_purge, app_system, app_verifier;
grant usage, create on schema app, public to app_owner;
grant usage, create on schema app to app_system;
