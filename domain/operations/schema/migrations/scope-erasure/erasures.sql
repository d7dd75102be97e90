-- Deletions of a part of a tenant, such as a collection: its root is out of sight at once, its rows are erased
-- afterwards; see domain/operations/scope-erasure. The row stays as the record of what was erased: ids, times and
-- counts.
create table erasures (
  tenant_id uuid not null references tenants,
  root_type text not null check (root_type in ('collection', 'space')),
  root_id uuid not null,
  requested_at timestamptz not null default now(),
  ended_at timestamptz,
  -- rows of each table
  erased jsonb not null default '{}',
  primary key (tenant_id, root_type, root_id)
);
create index erasures_open on erasures (tenant_id, root_id) where ended_at is null;
select pg_temp.secure_tenant_table('erasures');
revoke delete on erasures from app_rt;
select pg_temp.show_to_system('erasures', 'tenant_id, root_type, root_id, ended_at');

-- A deleted root is out of sight of the runtime role. The deleting transaction itself keeps sight of its row: the
-- update that marks it needs that.
alter table collections add column deleted_at timestamptz;
alter policy runtime on collections using (
  tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid and coalesce(deleted_at, now()) = now());
grant select (deleted_at) on collections to app_system;
