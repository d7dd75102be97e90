-- Functions that tables and triggers refer to. Those of triggers get their bodies from ../../functions/, in the same
-- transaction as this migration.
-- Where a transaction stands in the order of the log: by its id, behind everything that the log was told by the server
-- that it was dumped from. `migrate` moves the beginning after a restore.
create function app.log_beginning() returns bigint language sql immutable as 'select 0::bigint';
create function app.log_position(p_transaction xid8) returns xid8 language sql stable as $$
  select (p_transaction::text::bigint + app.log_beginning())::text::xid8
$$;
select pg_temp.secure_function('app.log_beginning()'), pg_temp.secure_function('app.log_position(xid8)');

create function app.tell_key_change() returns trigger language plpgsql as 'begin return null; end';
create function app.drop_stale_names() returns trigger language plpgsql as 'begin return null; end';
create function app.refuse_change() returns trigger language plpgsql as 'begin return null; end';
