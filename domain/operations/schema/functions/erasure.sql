-- Erasure of tenants.

-- Whether no other tenant has a row in the partition. Its owner sees rows by the policy `lone` alone, and without that
-- policy none, also not this tenant's.
create or replace function app.is_lone_partition(p_tenant uuid, p_partition regclass) returns boolean
language plpgsql as $$
declare
  lone boolean;
begin
  execute format('select exists (select from %1$s where tenant_id = $1)
    and not exists (select from %1$s where tenant_id < $1) and not exists (select from %1$s where tenant_id > $1)',
    p_partition) into lone using p_tenant;
  return lone;
end $$;

-- Empties a partition if all its rows are of the transaction's tenant, and returns how many they were; 0 if others
-- share it, with nothing changed and without a lock that anybody waits for.
create or replace function app.empty_lone_partition(p_partition text) returns bigint
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  tenant uuid := nullif(current_setting('app.tenant_id', true), '')::uuid;
  part regclass := (select i.inhrelid from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where c.relnamespace = 'public'::regnamespace and c.relname = p_partition);
  n bigint := 0;
begin
  if not app.is_lone_partition(tenant, part) then
    return 0;
  end if;
  execute format('select count(*) from %s', part) into n;
  execute format('lock table %s in access exclusive mode', part);
  if not app.is_lone_partition(tenant, part) then
    return 0;
  end if;
  execute format('truncate table %s', part);
  return n;
end $$;

-- It truncates tables, as their owner.
select pg_temp.secure_function('app.is_lone_partition(uuid,regclass)', 'app_owner', '{}');
select pg_temp.secure_function('app.empty_lone_partition(text)', 'app_owner', '{app_purge}');
