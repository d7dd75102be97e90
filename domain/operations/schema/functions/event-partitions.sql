-- Partitions of the event log: one for each month of its ids (uuid v7).

-- The months of the log that have a partition of their own.
create or replace function app.event_months() returns setof timestamptz language sql stable set timezone = 'UTC' as $$
  select to_date(right(c.relname, 6), 'YYYYMM')::timestamptz from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'public.events'::regclass and c.relname ~ '^events_\d{6}$'
$$;

-- Without gaps and without a default, partitions are scanned in the order of their ids, newest first, only as far as
-- a page reaches; with a default, every query would scan all of them. Rows of a month without a partition are in
-- events_past and events_future. Months are added and dropped between calls of these two functions.
create or replace function app.open_event_months() returns void language plpgsql as $$
begin
  alter table public.events detach partition public.events_past;
  alter table public.events detach partition public.events_future;
end $$;

create or replace function app.join_event_months() returns void language plpgsql set timezone = 'UTC' as $$
begin
  execute format('alter table public.events attach partition public.events_past for values from (minvalue) to (%L)',
    (select app.first_id(min(m)) from app.event_months() m));
  execute format('alter table public.events attach partition public.events_future for values from (%L) to (maxvalue)',
    (select app.first_id(max(m) + interval '1 month') from app.event_months() m));
end $$;

-- Creates the partition of a month and moves the month's rows into it.
create or replace function app.add_event_month(p_month timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp set timezone = 'UTC' as $$
declare
  part text := 'events_' || to_char(p_month, 'YYYYMM');
  low uuid := app.first_id(p_month);
  high uuid := app.first_id(p_month + interval '1 month');
  columns constant text := 'tenant_id, id, category, event_type, actor_id, actor_name, actor_email, resource_type, resource_id, metadata, transaction_id';
  edge text;
begin
  perform app.open_event_months();
  execute format('create table public.%I partition of public.events for values from (%L) to (%L)', part, low, high);
  foreach edge in array array['events_past', 'events_future'] loop
    -- Row-level security hides a tenant's rows even from the owner.
    execute format('alter table public.%I no force row level security', edge);
    execute format('with moved as (delete from public.%1$I where id >= %2$L and id < %3$L returning %4$s)
      insert into public.%5$I (%4$s) select %4$s from moved', edge, low, high, columns, part);
    execute format('alter table public.%I force row level security', edge);
  end loop;
  execute format('alter table public.%I enable row level security, force row level security', part);
  execute format('create policy lone on public.%I for select to app_owner using (true)', part);
  perform app.join_event_months();
end $$;

-- Adds the oldest month that is due: one missed by a long outage, this one or the next. Returns whether it added one.
create or replace function app.add_due_month() returns boolean language plpgsql set timezone = 'UTC' as $$
declare
  this constant timestamptz := date_trunc('month', now());
  due timestamptz[] := array(
    select g from generate_series(least(this, (select max(e) from app.event_months() e)), this + interval '1 month',
      interval '1 month') g where g not in (select e from app.event_months() e) order by g);
begin
  if cardinality(due) > 0 then
    perform app.add_event_month(due[1]);
  end if;
  return cardinality(due) > 0;
end $$;

-- Drops the months of the log that end at or before p_before. Their seals and counts were deleted before, by tenant.
create or replace function app.drop_event_months(p_before timestamptz) returns integer
language plpgsql security definer set search_path = pg_catalog, public, pg_temp set timezone = 'UTC' as $$
declare
  old text;
  dropped integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('app.maintain_partitions')) then
    return 0;
  end if;
  for old in select 'events_' || to_char(m, 'YYYYMM') from app.event_months() m where m + interval '1 month' <= p_before loop
    if dropped = 0 then
      perform app.open_event_months();
    end if;
    execute format('drop table public.%I', old);
    dropped := dropped + 1;
  end loop;
  if dropped > 0 then
    perform app.join_event_months();
  end if;
  return dropped;
end $$;

-- Called by the partition functions, which alter tables as their owner.
select pg_temp.secure_function('app.event_months()', 'app_owner', '{}');
select pg_temp.secure_function('app.open_event_months()', 'app_owner', '{}');
select pg_temp.secure_function('app.join_event_months()', 'app_owner', '{}');
select pg_temp.secure_function('app.add_event_month(timestamptz)', 'app_owner', '{}');
select pg_temp.secure_function('app.add_due_month()', 'app_owner', '{}');
select pg_temp.secure_function('app.drop_event_months(timestamptz)', 'app_owner', '{app_purge}');
