-- Maintenance of all partitions.

-- One change of partitions, for a transaction of its own; says whether another may be due. What is to be made comes before
-- what is to go. Whoever is at it already is not waited for.
create or replace function app.maintain_partitions() returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp set timezone = 'UTC' as $$
declare
  d date;
begin
  if not pg_try_advisory_xact_lock(hashtext('app.maintain_partitions')) then
    return false;
  end if;
  -- As far as retention reaches today, and two days on.
  for d in select current_date + n from generate_series(0,
      least(greatest(coalesce(app.last_expiry()::date - current_date, 0), 1), 400) + 2) n
      where current_date + n not in (select e from app.stream_days() e) order by n loop
    if app.add_stream_day(d) then
      return true;
    end if;
  end loop;
  if app.add_due_month() then
    return true;
  end if;
  return app.drop_stream_day();
end $$;

-- It alters tables, as their owner.
select pg_temp.secure_function('app.maintain_partitions()', 'app_owner', '{app_purge}');
