-- The keys of sealed fields, each wrapped by the master key. A row that is gone takes with it all that it sealed.
create table data_keys (
  tenant_id uuid not null references tenants,
  id uuid not null,
  -- null: the tenant's own
  principal_id uuid,
  wrapped text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, principal_id) references principals
);
create index on data_keys (tenant_id, principal_id, created_at desc);
