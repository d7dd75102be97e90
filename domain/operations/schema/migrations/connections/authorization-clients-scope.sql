-- The scopes to which a registration may limit the client; empty: none; null: no limit is known.
alter table authorization_clients add column scope text;
