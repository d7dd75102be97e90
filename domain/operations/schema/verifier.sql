-- What the verifier of an erasure may read: of every table that names tenants, whose rows they are and nothing else; of
-- tables of no tenant, everything. Run with every migration, so that a new table is counted like the others. It changes
-- only what is missing: a policy takes an exclusive lock of its table.
do $$
declare
  t record;
begin
  for t in
    select c.oid::regclass as name, c.relrowsecurity as secured,
      exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id') as of_tenants,
      exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'verifier') as shown,
      has_table_privilege('app_verifier', c.oid, 'select') as all_granted,
      exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id'
        and has_column_privilege('app_verifier', c.oid, a.attnum, 'select')) as granted
    from pg_class c
    where c.relnamespace in ('public'::regnamespace, 'app'::regnamespace) and c.relkind in ('r', 'p') and not c.relispartition
  loop
    if t.of_tenants and t.granted or t.all_granted then
      null;
    elsif t.of_tenants then
      execute format('grant select (tenant_id) on %s to app_verifier', t.name);
    else
      execute format('grant select on %s to app_verifier', t.name);
    end if;
    if t.secured and not t.shown then
      execute format('create policy verifier on %s for select to app_verifier using (true)', t.name);
    end if;
  end loop;
end $$;
