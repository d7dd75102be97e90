-- Hot SQL. Each function takes tenant_id first and sets the tenant for its own transaction, so that one
-- round trip suffices and row-level security stays the wall (SECURITY INVOKER).

-- Appends runs of stream events for many responses at once. Per element: 'in', 'fenced' (another writer holds
-- the model lane, or next_n is not first_n) or 'busy' (somebody holds the head just now: try again). Waits for
-- nobody and never raises for one, so that a locked response does not hold up the others.
create function app.append_stream(
  p_tenant uuid[], p_response text[], p_epoch integer[], p_first_n integer[], p_n integer[], p_events text[]
) returns text[] language plpgsql as $$
declare
  answers text[] := array_fill('fenced'::text, array[cardinality(p_tenant)]);
  i integer;
  v_expires timestamptz;
  woken text := '';
begin
  for i in
    select o from unnest(p_tenant, p_response) with ordinality as u(t, r, o) order by t, r
  loop
    perform set_config('app.tenant_id', p_tenant[i]::text, true);
    -- Nobody is waited for: a head that somebody holds just now answers busy.
    if not exists (select from responses r
        where r.tenant_id = p_tenant[i] and r.id = p_response[i] and r.expires_at > now()
        for no key update skip locked) then
      if exists (select from responses r
          where r.tenant_id = p_tenant[i] and r.id = p_response[i] and r.expires_at > now()) then
        answers[i] := 'busy';
      end if;
      continue;
    end if;
    update responses set next_n = next_n + p_n[i]
      where tenant_id = p_tenant[i] and id = p_response[i]
        and writer_epoch = p_epoch[i] and next_n = p_first_n[i] and status = 'in_progress'
      returning expires_at into v_expires;
    if found then
      insert into stream_runs (tenant_id, response_id, first_n, n, events, expires_at)
        values (p_tenant[i], p_response[i], p_first_n[i], p_n[i], p_events[i], v_expires);
      answers[i] := 'in';
      if length(woken) > 7000 then
        perform pg_notify('wake', woken);
        woken := '';
      end if;
      woken := woken || p_response[i] || ':' || (p_first_n[i] + p_n[i] - 1) || ' ';
    end if;
  end loop;
  if woken <> '' then
    perform pg_notify('wake', woken);
  end if;
  return answers;
end $$;

-- Reading functions are STABLE: all their queries see the snapshot of the one call, so that a turn which commits
-- meanwhile is seen either open or committed, never neither.

-- The runs after a cursor for many attached readers at once. A row is a run; n may lie before p_after
-- inside the first run, which the reader drops. Every run of a response expires with it, so that its expiry
-- names the one partition to look into. Of an expired one there is none to read, though it runs on.
create function app.read_streams(p_tenant uuid[], p_response text[], p_after integer[], p_limit integer)
returns table (place integer, first_n integer, n integer, events text) language plpgsql stable as $$
declare
  i integer;
  v_expires timestamptz;
begin
  for i in 1 .. cardinality(p_tenant) loop
    perform set_config('app.tenant_id', p_tenant[i]::text, true);
    select d.expires_at into v_expires from response_ids d
      where d.tenant_id = p_tenant[i] and d.id = p_response[i] and d.expires_at > now();
    return query
      select i, s.first_n, s.n, s.events from stream_runs s
      where s.tenant_id = p_tenant[i] and s.response_id = p_response[i] and s.expires_at = v_expires
        and s.first_n + s.n - 1 > p_after[i]
        and s.first_n >= coalesce((select max(b.first_n) from stream_runs b
              where b.tenant_id = p_tenant[i] and b.response_id = p_response[i] and b.expires_at = v_expires
                and b.first_n <= p_after[i] + 1), 0)
      order by s.first_n limit p_limit;
  end loop;
end $$;

-- Everything that decides what a principal may do in a tenant and, when given, in one of its spaces.
create function app.read_access(p_tenant uuid, p_principal uuid, p_space uuid) returns jsonb
language plpgsql stable as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  return (
    select jsonb_build_object(
      'tenant_status', t.status,
      'is_platform', t.is_platform,
      'principal_status', p.status,
      'principal_type', p.type,
      'space_found', exists (select from spaces s where s.tenant_id = p_tenant and s.id = p_space),
      'tenant_roles', to_jsonb(held.tenant_roles),
      'space_role', held.space_role,
      -- Those that are held: a tenant may have made hundreds.
      'custom_roles', (select coalesce(jsonb_object_agg(r.key, to_jsonb(r.permissions)), '{}') from roles r
                       where r.tenant_id = p_tenant and r.key = any (held.tenant_roles || held.space_role)))
    from tenants t join principals p on p.tenant_id = t.tenant_id and p.id = p_principal
    -- Found once: without the offset both lists are looked up wherever they stand.
    cross join lateral (
      select array(select a.role_key from role_assignments a
                   where a.tenant_id = p_tenant and a.principal_id = p_principal) as tenant_roles,
             (select m.role_key from space_members m
              where m.tenant_id = p_tenant and m.space_id = p_space and m.principal_id = p_principal) as space_role
      offset 0) held
    where t.tenant_id = p_tenant);
end $$;

-- What was asked of a response. It may be large and few readers show it, so read_response leaves it out.
create function app.read_request(p_tenant uuid, p_response text) returns jsonb language plpgsql stable as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  return (select r.request from responses r
    where r.tenant_id = p_tenant and r.id = p_response and r.expires_at > now());
end $$;

create function app.remove_outbox(p_tenant uuid, p_id uuid) returns void language plpgsql as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  delete from outbox where tenant_id = p_tenant and id = p_id;
end $$;

create function app.postpone_outbox(p_tenant uuid, p_id uuid, p_wait_ms double precision) returns void language plpgsql as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  update outbox set claimed_until = now() + p_wait_ms * interval '1 millisecond' where tenant_id = p_tenant and id = p_id;
end $$;

create function app.sum_usage(p_tenant uuid, p_response text) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'input_tokens', coalesce(sum(input_tokens), 0)::bigint,
    'cached_input_tokens', coalesce(sum(cached_input_tokens), 0)::bigint,
    'output_tokens', coalesce(sum(output_tokens), 0)::bigint,
    'reasoning_tokens', coalesce(sum(reasoning_tokens), 0)::bigint,
    'cost_pico_usd', coalesce(sum(cost_pico_usd), 0)::text)
  from usage_ledger where tenant_id = p_tenant and response_id = p_response and settled
$$;

-- Written at most once a minute per key, whatever the number of gateways.
create function app.note_key_use(p_tenant uuid, p_key uuid) returns void language plpgsql as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  update api_keys set last_used_at = now()
    where tenant_id = p_tenant and id = p_key
      and (last_used_at is null or last_used_at <= now() - interval '1 minute');
end $$;

do $$
declare
  f record;
begin
  for f in select p.oid::regprocedure as signature from pg_proc p where p.pronamespace = 'app'::regnamespace loop
    execute format('alter function %s owner to app_owner', f.signature);
    execute format('revoke all on function %s from public', f.signature);
    execute format('grant execute on function %s to app_rt, app_purge', f.signature);
  end loop;
end $$;

-- The doors between tenants: SECURITY DEFINER, ids only (and the credential's hash).
-- Always one row: an id that no key has gets a stand-in of the same size, which nothing matches and nobody may use, so
-- that the time of an answer does not tell which ids there are.
create function app.find_credential(p_key_id text)
returns table (tenant_id uuid, id uuid, principal_id uuid, secret_hash text, permissions text[], usable boolean, expires_in_ms double precision)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select coalesce(k.tenant_id, s.id), coalesce(k.id, s.id), coalesce(k.principal_id, s.id),
         coalesce(k.secret_hash, s.secret_hash), k.permissions,
         k.revoked_at is null and coalesce(k.expires_at, s.expires_at) > now(),
         extract(epoch from coalesce(k.expires_at, s.expires_at) - now()) * 1000
  from (values ('00000000-0000-0000-0000-000000000000'::uuid, repeat('-', 43), '2000-01-01'::timestamptz)) s (id, secret_hash, expires_at)
  left join public.api_keys k on k.key_id = p_key_id
$$;

-- Names and states of tenants for the platform's operators, newest first: ids of version 7 follow creation.
create function app.list_tenants(p_before uuid, p_limit integer)
returns table (tenant_id uuid, slug text, name text, status text, is_platform boolean, created_at text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select t.tenant_id, t.slug, t.name, t.status, t.is_platform,
         to_char(t.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  from public.tenants t where p_before is null or t.tenant_id < p_before
  order by t.tenant_id desc limit p_limit
$$;

-- Leases due rows for ten seconds, oldest first within a workflow.
create function app.claim_outbox(p_limit integer)
returns table (tenant_id uuid, id uuid, kind text, workflow_type text, workflow_id text, payload jsonb)
language sql security definer set search_path = pg_catalog, public, pg_temp as $$
  with due as (
    select o.tenant_id, o.id from public.outbox o
    where o.claimed_until < now()
      and not exists (select from public.outbox earlier
                      where earlier.tenant_id = o.tenant_id and earlier.workflow_id = o.workflow_id and earlier.id < o.id)
    order by o.id limit p_limit for update skip locked)
  update public.outbox o set claimed_until = now() + interval '10 seconds'
  from due where o.tenant_id = due.tenant_id and o.id = due.id
  returning o.tenant_id, o.id, o.kind, o.workflow_type, o.workflow_id, o.payload
$$;

create function app.outbox_age_seconds() returns double precision
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select coalesce(extract(epoch from now() - min(o.created_at)), 0) from public.outbox o
$$;

-- Responses whose content may go, by keyset in the order in which it was due: ended and expired, or deleted long enough
-- for attached readers to see their end.
create function app.list_expired(p_after timestamptz, p_after_id text, p_limit integer)
returns table (tenant_id uuid, response_id text, due text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select d.tenant_id, d.id, to_char(d.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') from (
    (select r.tenant_id, r.id, r.expires_at as at from public.responses r
      where r.expires_at <= now() and r.finished_at is not null and (r.expires_at, r.id) > (p_after, p_after_id)
      order by r.expires_at, r.id limit p_limit)
    union all
    (select r.tenant_id, r.id, r.deleted_at from public.responses r
      where r.deleted_at < now() - interval '15 seconds' and not (r.expires_at <= now() and r.finished_at is not null)
        and (r.deleted_at, r.id) > (p_after, p_after_id)
      order by r.deleted_at, r.id limit p_limit)) d
  order by d.at, d.id limit p_limit
$$;

-- Non-terminal responses old enough that their workflow must exist, by keyset. One that waits has none yet, unless
-- what it waits for is gone or has ended.
create function app.list_stale(p_after_created timestamptz, p_after_id text, p_limit integer)
returns table (tenant_id uuid, response_id text, status text, created_at text, queued_since timestamptz, deadline_at timestamptz, expired boolean, waits boolean, stranded boolean, listed_at timestamptz)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select r.tenant_id, r.id, r.status, to_char(r.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), r.queued_since, r.deadline_at, r.expires_at <= now(), r.waits_for is not null,
    r.waits_for is not null and p.id is null, now()
  from public.responses r left join public.responses p on p.tenant_id = r.tenant_id and p.id = r.waits_for and p.finished_at is null
  where r.finished_at is null and r.created_at < now() - interval '15 seconds'
    and (r.created_at, r.id) > (p_after_created, p_after_id)
  order by r.created_at, r.id limit p_limit
$$;

-- Ended responses with a call that was started and never settled, although no attempt at it can still run: an
-- attempt begins before the end and lasts ten minutes at most. Content out of reach is seen to by the purge.
create function app.list_lost_calls(p_after_tenant uuid, p_after_id text, p_limit integer)
returns table (tenant_id uuid, response_id text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select r.tenant_id, r.id from public.responses r
  where (r.tenant_id, r.id) in (select c.tenant_id, c.response_id from public.tool_calls c where c.status = 'started')
    and r.finished_at < now() - interval '12 minutes' and r.expires_at > now() and r.deleted_at is null
    and (r.tenant_id, r.id) > (p_after_tenant, p_after_id)
  order by r.tenant_id, r.id limit p_limit
$$;

-- Documents that have waited too long for their extraction.
create function app.list_unprocessed(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, document_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select d.tenant_id, d.id from public.documents d
  where d.status = 'processing' and d.created_at < now() - interval '30 seconds'
    and (d.tenant_id, d.id) > (p_after_tenant, p_after_id)
  order by d.tenant_id, d.id limit p_limit
$$;

do $$
declare
  f text;
begin
  foreach f in array array['find_credential(text)', 'list_tenants(uuid,integer)', 'claim_outbox(integer)', 'outbox_age_seconds()', 'list_expired(timestamptz,text,integer)',
    'list_stale(timestamptz,text,integer)', 'list_lost_calls(uuid,text,integer)', 'list_unprocessed(uuid,uuid,integer)'] loop
    execute format('alter function app.%s owner to app_system', f);
    execute format('revoke all on function app.%s from public', f);
    execute format('grant execute on function app.%s to app_rt, app_purge', f);
  end loop;
end $$;

-- Partitions: stream events by the day they expire, audit events (events-functions.sql) by the month of their uuid v7.

-- Until when responses are kept that were accepted so far: the days up to then want their partitions.
create function app.last_expiry() returns timestamptz
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select max(d.expires_at) from public.response_ids d
$$;
-- Whether a response that expired before p_before has not ended: it ends by what its stream said.
create function app.has_unfinished(p_before timestamptz) returns boolean
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select exists (select from public.responses r where r.finished_at is null and r.expires_at < p_before)
$$;
do $$
declare
  f text;
begin
  foreach f in array array['last_expiry()', 'has_unfinished(timestamptz)'] loop
    execute format('alter function app.%s owner to app_system', f);
    execute format('revoke all on function app.%s from public', f);
    execute format('grant execute on function app.%s to app_owner', f);
  end loop;
end $$;

-- The table is whole before it is attached: only the default partition has to be free for a moment then, which no writer
-- of a day that has its partition asks for, and not the parent, which every writer does.
create function app.add_stream_day(p_day date) returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp set timezone = 'UTC' as $$
declare
  part text := 'stream_runs_' || to_char(p_day, 'YYYYMMDD');
begin
  execute format('create table public.%I (like public.stream_runs including all)', part);
  execute format('alter table public.%I enable row level security, force row level security', part);
  execute format('alter table public.stream_runs attach partition public.%I for values from (%L) to (%L)',
    part, p_day::timestamptz, (p_day + 1)::timestamptz);
  return true;
exception when check_violation then
  -- the default partition already holds rows of this range: they stay there until they are purged
  return false;
end $$;
alter function app.add_stream_day(date) owner to app_owner;
revoke all on function app.add_stream_day(date) from public;

-- The days of streams that have a partition of their own.
create function app.stream_days() returns setof date language sql stable as $$
  select to_date(right(c.relname, 8), 'YYYYMMDD') from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'public.stream_runs'::regclass and c.relname ~ '^stream_runs_\d{8}$'
$$;
alter function app.stream_days() owner to app_owner;
revoke all on function app.stream_days() from public;

-- Frees the oldest day whose streams have expired. It is emptied first, which asks for that one table; an empty one is
-- dropped, which asks for the parent, and for a moment only. Says whether it did either.
create function app.drop_stream_day() returns boolean
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
alter function app.drop_stream_day() owner to app_owner;
revoke all on function app.drop_stream_day() from public;

-- One change of partitions, for a transaction of its own; says whether another may be due. What is to be made comes before
-- what is to go. Whoever is at it already is not waited for.
create function app.maintain_partitions() returns boolean
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
alter function app.maintain_partitions() owner to app_owner;
revoke all on function app.maintain_partitions() from public;
grant execute on function app.maintain_partitions() to app_purge;
