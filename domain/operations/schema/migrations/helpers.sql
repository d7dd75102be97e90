-- Helpers of migrations and of the functions' files. They live in the session that migrates and leave nothing behind; a
-- landed migration goes on calling them, so they are as frozen as it is: other behaviour needs another name.

-- Row-level security of a table with a column tenant_id: app_owner owns it and never logs in, app_rt serves, app_purge
-- deletes, and each of the two sees the rows of the transaction's tenant. p_visible narrows what app_rt sees.
create or replace function pg_temp.secure_tenant_table(p_table regclass, p_visible text default null) returns void
language plpgsql set search_path = pg_catalog, public as $$
declare
  mine constant text := $p$tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid$p$;
begin
  execute format('alter table %s owner to app_owner', p_table);
  execute format('alter table %s enable row level security', p_table);
  execute format('alter table %s force row level security', p_table);
  execute format('create policy runtime on %s to app_rt using (%s) with check (%s)', p_table,
    mine || coalesce(' and ' || p_visible, ''), mine);
  execute format('create policy purge on %s to app_purge using (%s) with check (%s)', p_table, mine, mine);
  execute format('grant select, insert, update, delete on %s to app_rt, app_purge', p_table);
end $$;

-- What cross-tenant functions may read of a table: these columns, of every tenant.
create or replace function pg_temp.show_to_system(p_table regclass, p_columns text) returns void
language plpgsql set search_path = pg_catalog, public as $$
begin
  execute format('create policy system on %s for select to app_system using (true)', p_table);
  execute format('grant select (%s) on %s to app_system', p_columns, p_table);
end $$;

-- Owner and callers of a function: those of its kind, or others that are named. SECURITY INVOKER belongs to app_owner;
-- SECURITY DEFINER is a cross-tenant function, belongs to app_system and must name its search_path.
create or replace function pg_temp.secure_function(
  p_function regprocedure, p_owner text default null, p_callers text[] default '{app_rt,app_purge}') returns void
language plpgsql set search_path = pg_catalog, public as $$
declare
  f pg_proc := (select p from pg_proc p where p.oid = p_function);
  role text;
begin
  if f.prosecdef and not 'search_path=pg_catalog, public, pg_temp' = any (coalesce(f.proconfig, '{}')) then
    raise exception '% is SECURITY DEFINER and must set search_path = pg_catalog, public, pg_temp', p_function;
  end if;
  p_owner := coalesce(p_owner, case when f.prosecdef then 'app_system' else 'app_owner' end);
  execute format('alter function %s owner to %I', p_function, p_owner);
  execute format('revoke all on function %s from public', p_function);
  foreach role in array array['app_owner', 'app_system', 'app_rt', 'app_purge'] loop
    if role = any (p_callers) then
      execute format('grant execute on function %s to %I', p_function, role);
    elsif role <> p_owner then
      execute format('revoke all on function %s from %I', p_function, role);
    end if;
  end loop;
end $$;
