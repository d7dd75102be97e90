-- Functions of the event log.

-- What was sealed of a name that has changed is not its sealed form any more.
create function app.drop_stale_names() returns trigger language plpgsql as $$
begin
  if new.name is distinct from old.name and new.sealed_name is not distinct from old.sealed_name then
    new.sealed_name := null;
  end if;
  if new.email is distinct from old.email and new.sealed_email is not distinct from old.sealed_email then
    new.sealed_email := null;
  end if;
  return new;
end $$;
create trigger stale_names before update of name, email on principals
  for each row execute function app.drop_stale_names();
create index principals_unsealed on principals (tenant_id, id)
  where (name is not null and sealed_name is null) or (email is not null and sealed_email is null);

-- The least id of version 7 at a moment; the nil id for a moment before all time.
create function app.first_id(p_at timestamptz) returns uuid language sql immutable as $$
  select (left(h, 8) || '-' || substr(h, 9, 4) || '-0000-0000-000000000000')::uuid
  from (select lpad(to_hex(case
    when p_at is null or p_at < '1970-01-01' then 0
    when p_at > '9999-01-01' then 281474976710655
    else ceil(extract(epoch from p_at) * 1000)::bigint end), 12, '0') as h) as t
$$;

-- Kinds of resources that have a handful of events each: those are counted by the index.
create function app.is_fleeting(p_resource_type text) returns boolean language sql immutable as $$
  select p_resource_type in ('response', 'document', 'sync_run')
$$;

-- The beginning of the month, day, hour or ten minutes (a grain) that a moment lies in. UTC's, whatever the server's zone.
create function app.floor_to(p_at timestamptz, p_grain text) returns timestamptz language sql stable as $$
  select case p_grain when '1 month' then date_trunc('month', p_at, 'UTC')
    else date_bin(p_grain::interval, p_at, timestamptz '2000-01-01 00:00+00') end
$$;

-- A window (p_high exclusive) as few rows of the counts as say it: of the coarsest of p_grains what is whole, of the next
-- what that leaves at its edges, and so on. What not even the last one has whole is left out.
create function app.cover_window(p_low timestamptz, p_high timestamptz, p_grains text[])
returns table (grain text, low timestamptz, high timestamptz) language plpgsql stable set timezone = 'UTC' as $$
begin
  if p_low >= p_high or p_grains = '{}' then
    return;
  end if;
  grain := p_grains[1];
  low := app.floor_to(p_low + grain::interval - interval '1 microsecond', grain);
  high := app.floor_to(p_high, grain);
  if low >= high then
    return query select * from app.cover_window(p_low, p_high, p_grains[2:]);
    return;
  end if;
  return next;
  return query select * from app.cover_window(p_low, low, p_grains[2:]);
  return query select * from app.cover_window(high, p_high, p_grains[2:]);
end $$;

-- Events by category (space, collection, security, system) from p_low to p_high (exclusive, null: without end),
-- exactly: whole ten minutes (for one resource, days) from the counts of sealed events and the few that are not sealed
-- yet, what the window cuts from the index. All in the snapshot of the calling statement.
create function app.count_events(
  p_tenant uuid, p_resource_type text, p_resource_id text, p_low timestamptz, p_high timestamptz
) returns bigint[] language plpgsql stable
set timezone = 'UTC' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  categories constant text[] := array['space', 'collection', 'security', 'system'];
  totals bigint[] := array[0, 0, 0, 0];
  chain event_chains;
  grains constant text[] := case when p_resource_id is null then array['1 month', '1 day', '1 hour', '10 minutes']
    else array['1 month', '1 day'] end;
  finest constant text := grains[cardinality(grains)];
  v_low timestamptz := coalesce(p_low, '-infinity');
  v_high timestamptz := coalesce(p_high, 'infinity');
  whole_low timestamptz;
  whole_high timestamptz;
  span record;
  found_row record;
begin
  select * into chain from event_chains c where c.tenant_id = p_tenant;
  if chain.retained_from > v_low then
    v_low := chain.retained_from;
  end if;
  whole_low := app.floor_to(v_low + finest::interval - interval '1 microsecond', finest);
  whole_high := app.floor_to(v_high, finest);
  if chain.tenant_id is null or whole_low >= whole_high or (p_resource_id is not null and not exists (
      select from event_resource_counts c where c.tenant_id = p_tenant and c.resource_id = p_resource_id)) then
    -- nothing of it is in the counts
    whole_low := v_high;
    whole_high := v_high;
  else
    for span in select * from app.cover_window(whole_low, whole_high, grains) loop
      if p_resource_id is null then
        for found_row in
          select array_position(categories, c.category) as place, sum(c.n)::bigint as n from event_counts c
          where c.tenant_id = p_tenant and c.grain = span.grain and c.starts_at >= span.low and c.starts_at < span.high
            and (p_resource_type is null or c.resource_type = p_resource_type)
          group by c.category
        loop
          totals[found_row.place] := totals[found_row.place] + found_row.n;
        end loop;
      else
        for found_row in
          select array_position(categories, c.category) as place, sum(c.n)::bigint as n from event_resource_counts c
          where c.tenant_id = p_tenant and c.resource_id = p_resource_id and c.grain = span.grain
            and c.starts_at >= span.low and c.starts_at < span.high
            and (p_resource_type is null or c.resource_type = p_resource_type)
          group by c.category
        loop
          totals[found_row.place] := totals[found_row.place] + found_row.n;
        end loop;
      end if;
    end loop;
    -- Only the order of sealing leads to these: every other condition would tempt the planner to another index,
    -- hence the conditions that no index answers.
    for found_row in
      select array_position(categories, e.category) as place, count(*) as n from events e
      where e.tenant_id = p_tenant
        and (e.transaction_id, e.id) > (chain.last_transaction_id, chain.last_event_id)
        and e.created_at >= whole_low and e.created_at < whole_high
        and (p_resource_type is null or e.resource_type || '' = p_resource_type)
        and (p_resource_id is null or e.resource_id || '' = p_resource_id)
      group by e.category
    loop
      totals[found_row.place] := totals[found_row.place] + found_row.n;
    end loop;
  end if;
  for span in select * from (values (v_low, whole_low), (whole_high, v_high)) as s (low, high) where low < high loop
    if p_resource_id is not null then
      for found_row in
        select o as place, (select count(*) from events e where e.tenant_id = p_tenant and e.resource_id = p_resource_id
            and e.category = c and e.id >= app.first_id(span.low) and e.id < app.first_id(span.high)
            and (p_resource_type is null or e.resource_type || '' = p_resource_type)) as n
        from unnest(categories) with ordinality as u (c, o)
      loop
        totals[found_row.place] := totals[found_row.place] + found_row.n;
      end loop;
    elsif p_resource_type is not null then
      for found_row in
        select o as place, (select count(*) from events e where e.tenant_id = p_tenant and e.resource_type = p_resource_type
            and e.category = c and e.id >= app.first_id(span.low) and e.id < app.first_id(span.high)) as n
        from unnest(categories) with ordinality as u (c, o)
      loop
        totals[found_row.place] := totals[found_row.place] + found_row.n;
      end loop;
    else
      for found_row in
        select o as place, (select count(*) from events e where e.tenant_id = p_tenant
            and e.category = c and e.id >= app.first_id(span.low) and e.id < app.first_id(span.high)) as n
        from unnest(categories) with ordinality as u (c, o)
      loop
        totals[found_row.place] := totals[found_row.place] + found_row.n;
      end loop;
    end if;
  end loop;
  return totals;
end $$;

-- One page, newest first, with the totals by category, all of one snapshot. Filters that are null do not filter;
-- p_after is the last id of the page before, p_low and p_high (exclusive) bound the creation.
create function app.list_events(
  p_tenant uuid, p_limit integer, p_after uuid, p_category text, p_resource_type text, p_resource_id text,
  p_low timestamptz, p_high timestamptz
) returns table (page jsonb, counts bigint[]) language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  wanted text[] := case when p_category is null then array['space', 'collection', 'security', 'system'] else array[p_category] end;
  v_from uuid;
  v_below uuid;
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  v_from := greatest(app.first_id(p_low),
    (select app.first_id(c.retained_from) from event_chains c where c.tenant_id = p_tenant));
  v_below := coalesce(least(p_after, case when p_high is not null then app.first_id(p_high) end),
    'ffffffff-ffff-ffff-ffff-ffffffffffff');
  if p_resource_id is not null then
    select jsonb_agg(to_jsonb(r) order by r.id desc) into page from (
      select e.* from unnest(wanted) as c cross join lateral (
        select * from events e where e.tenant_id = p_tenant and e.resource_id = p_resource_id and e.category = c
          and e.id >= v_from and e.id < v_below
          and (p_resource_type is null or e.resource_type || '' = p_resource_type)
        order by e.id desc limit p_limit) e
      order by e.id desc limit p_limit) r;
  elsif p_resource_type is not null then
    select jsonb_agg(to_jsonb(r) order by r.id desc) into page from (
      select e.* from unnest(wanted) as c cross join lateral (
        select * from events e where e.tenant_id = p_tenant and e.resource_type = p_resource_type and e.category = c
          and e.id >= v_from and e.id < v_below
        order by e.id desc limit p_limit) e
      order by e.id desc limit p_limit) r;
  elsif p_category is not null then
    select jsonb_agg(to_jsonb(r) order by r.id desc) into page from (
      select * from events e where e.tenant_id = p_tenant and e.category = p_category
        and e.id >= v_from and e.id < v_below
      order by e.id desc limit p_limit) r;
  else
    select jsonb_agg(to_jsonb(r) order by r.id desc) into page from (
      select * from events e where e.tenant_id = p_tenant and e.id >= v_from and e.id < v_below
      order by e.id desc limit p_limit) r;
  end if;
  page := coalesce(page, '[]');
  counts := app.count_events(p_tenant, p_resource_type, p_resource_id, p_low, p_high);
  return next;
end $$;

-- Exactly one event, unless retention has passed it.
create function app.read_event(p_tenant uuid, p_event uuid) returns jsonb language plpgsql stable as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  return (select to_jsonb(e) from events e where e.tenant_id = p_tenant and e.id = p_event
    and e.id >= coalesce((select app.first_id(c.retained_from) from event_chains c where c.tenant_id = p_tenant),
      '00000000-0000-0000-0000-000000000000'));
end $$;

-- Writes an event, with the name and the address of its actor as they are sealed at this moment. A function, so that a
-- connection plans it once. Returns its id.
create function app.record_event(
  p_tenant uuid, p_category text, p_event_type text, p_resource_type text, p_resource_id text, p_metadata jsonb, p_actor uuid
) returns uuid language plpgsql as $$
declare
  actor record;
  recorded uuid;
begin
  select p.sealed_name, p.sealed_email into actor from principals p where p.tenant_id = p_tenant and p.id = p_actor;
  insert into events (tenant_id, category, event_type, resource_type, resource_id, metadata, actor_id, actor_name, actor_email)
    values (p_tenant, p_category, p_event_type, p_resource_type, p_resource_id, p_metadata, p_actor,
      actor.sealed_name, actor.sealed_email)
    returning id into recorded;
  return recorded;
end $$;

do $$
declare
  f text;
begin
  foreach f in array array['drop_stale_names()', 'first_id(timestamptz)', 'is_fleeting(text)', 'floor_to(timestamptz,text)',
    'cover_window(timestamptz,timestamptz,text[])',
    'count_events(uuid,text,text,timestamptz,timestamptz)', 'list_events(uuid,integer,uuid,text,text,text,timestamptz,timestamptz)',
    'read_event(uuid,uuid)', 'record_event(uuid,text,text,text,text,jsonb,uuid)'] loop
    execute format('alter function app.%s owner to app_owner', f);
    execute format('revoke all on function app.%s from public', f);
    execute format('grant execute on function app.%s to app_rt, app_purge', f);
  end loop;
end $$;

-- Tenants with work for the sealing step: events that are not sealed, or names that are not.
create function app.list_unsealed() returns table (tenant_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select t.tenant_id from public.tenants t left join public.event_chains c on c.tenant_id = t.tenant_id
  where exists (select from public.events e where e.tenant_id = t.tenant_id
      and (e.transaction_id, e.id) > (coalesce(c.last_transaction_id, '0'::xid8),
        coalesce(c.last_event_id, '00000000-0000-0000-0000-000000000000')))
    or exists (select from public.principals p where p.tenant_id = t.tenant_id
      and ((p.name is not null and p.sealed_name is null) or (p.email is not null and p.sealed_email is null)))
$$;
-- The last position that the log has, in any tenant; null while it is empty.
create function app.last_log_position() returns xid8
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select max(position) from (
    select c.last_transaction_id from public.event_chains c
    union all
    select e.transaction_id from public.tenants t cross join lateral (
      select e.transaction_id from public.events e where e.tenant_id = t.tenant_id
      order by e.transaction_id desc, e.id desc limit 1) e) as known (position)
$$;

-- How far sealing is behind: events that are not sealed, and the age of the oldest.
create function app.sealing_lag() returns table (events bigint, oldest_seconds double precision)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select coalesce(sum(l.n), 0)::bigint, coalesce(extract(epoch from clock_timestamp() - min(l.oldest)), 0)::double precision
  from public.tenants t left join public.event_chains c on c.tenant_id = t.tenant_id
  cross join lateral (
    select count(*) as n, min(uuid_extract_timestamp(u.id)) as oldest from (
      select e.id from public.events e where e.tenant_id = t.tenant_id
        and (e.transaction_id, e.id) > (coalesce(c.last_transaction_id, '0'::xid8),
          coalesce(c.last_event_id, '00000000-0000-0000-0000-000000000000'))
      order by e.transaction_id, e.id limit 10000) u) l
$$;
-- Tenants with chains that keep something older than p_before.
create function app.list_event_tenants(p_before timestamptz) returns table (tenant_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select c.tenant_id from public.event_chains c where c.retained_from < p_before
$$;

-- Tenants with a chain, in the order of their ids.
create function app.list_chains(p_after uuid, p_limit integer) returns table (tenant_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select c.tenant_id from public.event_chains c where c.tenant_id > p_after order by c.tenant_id limit p_limit
$$;

do $$
declare
  f text;
begin
  foreach f in array array['last_log_position()', 'list_unsealed()', 'sealing_lag()', 'list_event_tenants(timestamptz)', 'list_chains(uuid,integer)'] loop
    execute format('alter function app.%s owner to app_system', f);
    execute format('revoke all on function app.%s from public', f);
    execute format('grant execute on function app.%s to app_rt, app_purge', f);
  end loop;
end $$;

-- The months of the log that have a partition of their own.
create function app.event_months() returns setof timestamptz language sql stable set timezone = 'UTC' as $$
  select to_date(right(c.relname, 6), 'YYYYMM')::timestamptz from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'public.events'::regclass and c.relname ~ '^events_\d{6}$'
$$;

-- Partitions without gap and default are read in the order of their ids, newest first, and no further than a page
-- reaches; with a default all of them would be looked into. What has no month yet waits in events_past and
-- events_future. Months change between these two functions.
create function app.open_event_months() returns void language plpgsql as $$
begin
  alter table public.events detach partition public.events_past;
  alter table public.events detach partition public.events_future;
end $$;
create function app.join_event_months() returns void language plpgsql set timezone = 'UTC' as $$
begin
  execute format('alter table public.events attach partition public.events_past for values from (minvalue) to (%L)',
    (select app.first_id(min(m)) from app.event_months() m));
  execute format('alter table public.events attach partition public.events_future for values from (%L) to (maxvalue)',
    (select app.first_id(max(m) + interval '1 month') from app.event_months() m));
end $$;

-- Gives a month its partition, and what waited for it.
create function app.add_event_month(p_month timestamptz) returns void
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
    -- Not even their owner sees rows of a tenant.
    execute format('alter table public.%I no force row level security', edge);
    execute format('with moved as (delete from public.%1$I where id >= %2$L and id < %3$L returning %4$s)
      insert into public.%5$I (%4$s) select %4$s from moved', edge, low, high, columns, part);
    execute format('alter table public.%I force row level security', edge);
  end loop;
  execute format('alter table public.%I enable row level security, force row level security', part);
  perform app.join_event_months();
end $$;

-- Adds the oldest month that is due: one of a long stop, this one or the next. Says whether it added one.
create function app.add_due_month() returns boolean language plpgsql set timezone = 'UTC' as $$
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

do $$
declare
  f text;
begin
  foreach f in array array['event_months()', 'open_event_months()', 'join_event_months()', 'add_event_month(timestamptz)',
    'add_due_month()'] loop
    execute format('alter function app.%s owner to app_owner', f);
    execute format('revoke all on function app.%s from public', f);
  end loop;
end $$;

-- Drops the months of the log that end at or before p_before. Their seals and counts have gone, tenant by tenant.
create function app.drop_event_months(p_before timestamptz) returns integer
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
alter function app.drop_event_months(timestamptz) owner to app_owner;
revoke all on function app.drop_event_months(timestamptz) from public;
grant execute on function app.drop_event_months(timestamptz) to app_purge;
