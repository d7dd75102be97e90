-- What stays of an erased tenant: ids, times, counts and hashes, and nobody's name. Tables of the schema `app` are the
-- platform's own: the erasure of a tenant deletes rows of `public`.
create table app.tenant_tombstones (
  deletion_id uuid primary key,
  tenant_id uuid not null,
  reason_code text not null check (reason_code ~ '^[a-z0-9_.-]{1,64}$'),
  -- as it was signed, byte for byte
  certificate text not null,
  created_at timestamptz not null default now()
);
create index on app.tenant_tombstones (tenant_id);
alter table app.tenant_tombstones owner to app_owner;
grant select on app.tenant_tombstones to app_rt, app_verifier;
grant select, insert on app.tenant_tombstones to app_purge;

-- The owner of a partition may see whether it holds one tenant alone, and may then empty it at once.
do $$
declare
  part regclass;
begin
  for part in select c.oid from pg_class c where c.relnamespace = 'public'::regnamespace and c.relispartition and c.relkind = 'r' loop
    execute format('create policy lone on %s for select to app_owner using (true)', part);
  end loop;
end $$;
