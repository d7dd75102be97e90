-- The event log: writing, lists and exact counts.

-- The least id of version 7 at a moment; the nil id for a moment before 1970.
create or replace function app.first_id(p_at timestamptz) returns uuid language sql immutable as $$
  select (left(h, 8) || '-' || substr(h, 9, 4) || '-0000-0000-000000000000')::uuid
  from (select lpad(to_hex(case
    when p_at is null or p_at < '1970-01-01' then 0
    when p_at > '9999-01-01' then 281474976710655
    else ceil(extract(epoch from p_at) * 1000)::bigint end), 12, '0') as h) as t
$$;

-- Kinds of resources that have few events each, which are counted by the index.
create or replace function app.is_fleeting(p_resource_type text) returns boolean language sql immutable as $$
  select p_resource_type in ('response', 'document', 'sync_run')
$$;

-- The start of the month, day, hour or ten minutes (a grain) that contains a moment; in UTC, whatever the server's
-- zone.
create or replace function app.floor_to(p_at timestamptz, p_grain text) returns timestamptz language sql stable as $$
  select case p_grain when '1 month' then date_trunc('month', p_at, 'UTC')
    else date_bin(p_grain::interval, p_at, timestamptz '2000-01-01 00:00+00') end
$$;

-- Covers a window (p_high exclusive) with as few count rows as possible: whole units of the coarsest of p_grains,
-- then of the next one at the remaining edges, and so on. Edges below the finest grain are left out.
create or replace function app.cover_window(p_low timestamptz, p_high timestamptz, p_grains text[])
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

-- Exact number of events by category (space, collection, security, system) from p_low to p_high (exclusive, null:
-- without end). Whole ten minutes (for one resource, days) come from the counts of sealed events and the few unsealed
-- events, the edges of the window from the index. All in the snapshot of the calling statement.
create or replace function app.count_events(
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
    -- The counts hold nothing of the window.
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
    -- Only the index in sealing order is right here. The conditions are written so that no other index matches them,
    -- since the planner would choose it.
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

-- One page, newest first, with the totals by category, all of one snapshot. Null filters do not filter. p_after is
-- the last id of the previous page; p_low and p_high (exclusive) bound the creation time.
create or replace function app.list_events(
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

-- One event, unless its retention is over.
create or replace function app.read_event(p_tenant uuid, p_event uuid) returns jsonb language plpgsql stable as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  return (select to_jsonb(e) from events e where e.tenant_id = p_tenant and e.id = p_event
    and e.id >= coalesce((select app.first_id(c.retained_from) from event_chains c where c.tenant_id = p_tenant),
      '00000000-0000-0000-0000-000000000000'));
end $$;

-- Writes events of one tenant, each with the name and address of its actor as sealed at this moment, and enqueues
-- their fan-outs. An event with a known dedupe key is not written and gets no fan-out. A fan-out with a coalescing
-- key starts only if no pending one has that key. Returns the number of events written.
create or replace function app.record_events(p_tenant uuid, p_events jsonb) returns integer language plpgsql as $$
declare
  written_count integer;
  coalesced jsonb;
  one record;
begin
  perform app.require_tenant(p_tenant);
  with asked as (
    select uuidv7() as id, n.* from jsonb_to_recordset(p_events) as n(dedupe_key text, category text, event_type text,
      actor_id uuid, resource_type text, resource_id text, metadata jsonb, fan_out jsonb)),
  fresh as (
    insert into event_dedupe (tenant_id, key) select p_tenant, dedupe_key from asked where dedupe_key is not null
    on conflict do nothing returning key),
  written as (
    insert into events (tenant_id, id, category, event_type, actor_id, actor_name, actor_email, resource_type,
      resource_id, metadata)
    select p_tenant, a.id, a.category, a.event_type, a.actor_id, p.sealed_name, p.sealed_email, a.resource_type,
      a.resource_id, a.metadata
    from asked a left join principals p on p.tenant_id = p_tenant and p.id = a.actor_id
    where a.dedupe_key is null or a.dedupe_key in (select key from fresh) returning id),
  pending as (
    select a.id, a.event_type, a.fan_out from asked a join written using (id)
    where a.fan_out is not null and a.fan_out ->> 'coalescing_key' is null),
  unfinished as (
    insert into fan_outs (tenant_id, event_id, event_type) select p_tenant, id, event_type from pending),
  enqueued as (
    insert into outbox (tenant_id, id, kind, workflow_type, workflow_id, payload, claimed_until)
    select p_tenant, (fan_out ->> 'outbox_id')::uuid, 'start', fan_out ->> 'workflow_type',
      (fan_out ->> 'workflow_id_prefix') || id, (fan_out -> 'payload') || jsonb_build_object('eventId', id), now()
    from pending)
  select count(*), jsonb_agg(jsonb_build_object('id', a.id, 'event_type', a.event_type, 'fan_out', a.fan_out))
      filter (where a.fan_out ->> 'coalescing_key' is not null)
    into written_count, coalesced from asked a join written using (id);
  for one in select * from jsonb_to_recordset(coalesced) as n(id uuid, event_type text, fan_out jsonb) loop
    perform app.coalesce_fan_out(p_tenant, one.id, one.event_type, one.fan_out);
  end loop;
  return written_count;
end $$;

-- Enqueues the fan-out of an event, due after its delay, or leaves the event to the pending fan-out with the same
-- key. That fan-out keeps its key until this transaction ends, so it sees the event when it releases the key.
create or replace function app.coalesce_fan_out(p_tenant uuid, p_event uuid, p_event_type text, p_fan_out jsonb)
returns void language plpgsql as $$
declare
  v_key constant text := p_fan_out ->> 'coalescing_key';
  due constant timestamptz := now() + make_interval(secs => (p_fan_out ->> 'delay_seconds')::double precision);
begin
  loop
    insert into fan_outs (tenant_id, event_id, event_type, coalescing_key) values (p_tenant, p_event, p_event_type, v_key)
      on conflict (tenant_id, coalescing_key) do nothing;
    if found then
      -- Its age counts from its due time: before that it is not late.
      insert into outbox (tenant_id, id, kind, workflow_type, workflow_id, payload, claimed_until, created_at)
        values (p_tenant, (p_fan_out ->> 'outbox_id')::uuid, 'start', p_fan_out ->> 'workflow_type',
          (p_fan_out ->> 'workflow_id_prefix') || p_event,
          (p_fan_out -> 'payload') || jsonb_build_object('eventId', p_event), due, due);
      return;
    end if;
    perform from fan_outs where tenant_id = p_tenant and coalescing_key = v_key for share;
    if found then
      return;
    end if;
  end loop;
end $$;

-- As app.record_events for one event without a fan-out; for processes of the previous version.
create or replace function app.record_event(
  p_tenant uuid, p_category text, p_event_type text, p_resource_type text, p_resource_id text, p_metadata jsonb, p_actor uuid
) returns uuid language plpgsql as $$
declare
  actor record;
  recorded uuid;
begin
  perform app.require_tenant(p_tenant);
  select p.sealed_name, p.sealed_email into actor from principals p where p.tenant_id = p_tenant and p.id = p_actor;
  insert into events (tenant_id, category, event_type, resource_type, resource_id, metadata, actor_id, actor_name, actor_email)
    values (p_tenant, p_category, p_event_type, p_resource_type, p_resource_id, p_metadata, p_actor,
      actor.sealed_name, actor.sealed_email)
    returning id into recorded;
  return recorded;
end $$;
