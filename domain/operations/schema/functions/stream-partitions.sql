-- Partitions of stream events: one for each day of their expiry.

-- The latest expiry of the responses accepted so far: each day up to it needs a partition.
create or replace function app.last_expiry() returns timestamptz
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select max(d.expires_at) from public.response_ids d
$$;

-- Whether a response that expired before p_before has not ended: its end is made from its stream events.
create or replace function app.has_unfinished(p_before timestamptz) returns boolean
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select exists (select from public.responses r where r.finished_at is null and r.expires_at < p_before)
$$;

-- The table is complete before it is attached. Attaching then locks only the default partition for a moment, which no
-- writer of a day with its own partition needs, and not the parent, which every writer needs.
create or replace function app.add_stream_day(p_day date) returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp set timezone = 'UTC' as $$
declare
  part text := 'stream_runs_' || to_char(p_day, 'YYYYMMDD');
begin
  execute format('create table public.%I (like public.stream_runs including all)', part);
  execute format('alter table public.%I enable row level security, force row level security', part);
  execute format('create policy lone on public.%I for select to app_owner using (true)', part);
  execute format('alter table public.stream_runs attach partition public.%I for values from (%L) to (%L)',
    part, p_day::timestamptz, (p_day + 1)::timestamptz);
  return true;
exception when check_violation then
  -- The default partition already holds rows of this range: they stay there until they are purged.
  return false;
end $$;

-- The days of streams that have a partition of their own.
create or replace function app.stream_days() returns setof date language sql stable as $$
  select to_date(right(c.relname, 8), 'YYYYMMDD') from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'public.stream_runs'::regclass and c.relname ~ '^stream_runs_\d{8}$'
$$;

-- Frees the oldest day whose streams have expired. It is truncated first, which locks that table alone; an empty one
-- is dropped, which locks the parent for a moment. Returns whether it did either.
create or replace function app.drop_stream_day() returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp set timezone = 'UTC' as $$
declare
  old date := (select min(d) from app.stream_days() d);
  part text := 'stream_runs_' || to_char(old, 'YYYYMMDD');
begin
  if old is null or now() < (old + 1)::timestamptz + interval '1 hour' or app.has_unfinished((old + 1)::timestamptz) then
    return false;
  end if;
  if pg_relation_size(format('public.%I', part)) > 0 then
    execute format('truncate table public.%I', part);
  else
    execute format('drop table public.%I', part);
  end if;
  return true;
end $$;

-- Called by the partition functions, which alter tables as their owner.
select pg_temp.secure_function('app.last_expiry()', 'app_system', '{app_owner}');
select pg_temp.secure_function('app.has_unfinished(timestamptz)', 'app_system', '{app_owner}');
select pg_temp.secure_function('app.add_stream_day(date)', 'app_owner', '{}');
select pg_temp.secure_function('app.stream_days()', 'app_owner', '{}');
select pg_temp.secure_function('app.drop_stream_day()', 'app_owner', '{}');
