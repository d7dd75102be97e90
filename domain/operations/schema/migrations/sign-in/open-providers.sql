-- For app.find_login_provider. Nobody has signed in yet: the look-up must not read all providers.
create index on identity_providers (slug);
grant select (status) on identity_providers to app_system;
