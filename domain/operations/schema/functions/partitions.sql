-- Maintenance of all partitions.

-- Makes one change of partitions, in a transaction of its own; returns whether another may be due. Creates partitions
-- before it drops others. Does not wait for a concurrent maintenance.
create or replace function app.maintain_partitions() returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp set timezone = 'UTC' as $$
declare
  d date;
begin
  if not pg_try_advisory_xact_lock(hashtext('app.maintain_partitions')) then
    return false;
  end if;
  -- Up to the latest expiry of today's responses, plus two days.
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
