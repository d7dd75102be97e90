-- A turn and its calls: one reading call returns everything that the decision needs, and one writing call stores the
-- decision. The functions decide only whether the response is still as it was read.

-- A head with the clock and with all that decides what its requester may do now.
create or replace function app.read_head(p_tenant uuid, p_head responses) returns json language plpgsql stable as $$
begin
  return json_build_object(
    'now', floor(extract(epoch from clock_timestamp()) * 1000),
    'head', to_json(p_head),
    'access', app.read_access(p_tenant, p_head.principal_id, p_head.space_id),
    'key', (select json_build_object('revoked', k.revoked_at is not null, 'permissions', k.permissions)
            from api_keys k where k.tenant_id = p_tenant and k.id = p_head.api_key_id));
end $$;

-- Everything that the claim of a turn depends on, under one snapshot. No row: unknown, expired or deleted.
create or replace function app.read_turn(p_tenant uuid, p_response text, p_iteration integer)
returns table (head json, turn json, attempts json, events text, context json, own json, model json, price json, ledger json)
language plpgsql stable as $$
declare
  r responses;
  t turns;
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  select * into r from responses where tenant_id = p_tenant and id = p_response and expires_at > now();
  if not found then
    return;
  end if;
  head := app.read_head(p_tenant, r);
  select * into t from turns where tenant_id = p_tenant and response_id = p_response and iteration = p_iteration;
  if found then
    turn := to_json(t);
    select string_agg(s.events, e'\n' order by s.first_n) into events from stream_runs s
      where s.tenant_id = p_tenant and s.response_id = p_response and s.first_n >= t.first_n
        and s.expires_at = r.expires_at;
    select json_agg(a order by a.attempt) into attempts from turn_attempts a
      where a.tenant_id = p_tenant and a.response_id = p_response and a.iteration = p_iteration;
  end if;
  -- Images and sounds of the last results only: all of them would exhaust a process's memory.
  select json_agg(json_build_object('response_id', g.response_id, 'type', g.type, 'wire', g.wire,
        'exchange', case when g.media > 4 then g.exchange - 'media' else g.exchange end,
        'provider_state', g.provider_state) order by g.position)
    into context from (
      select i.response_id, i.type, i.wire, i.exchange, i.provider_state, c.position,
          count(*) filter (where i.exchange ? 'media') over (order by c.position desc) as media
        from response_context c join items i on i.tenant_id = c.tenant_id and i.id = c.item_id
        where c.tenant_id = p_tenant and c.response_id = p_response) g;
  select json_agg(json_build_object('response_id', g.response_id, 'type', g.type, 'wire', g.wire,
        'exchange', case when g.media > 4 then g.exchange - 'media' else g.exchange end,
        'provider_state', g.provider_state) order by g.output_index)
    into own from (
      select i.response_id, i.type, i.wire, i.exchange, i.provider_state, i.output_index,
          count(*) filter (where i.exchange ? 'media') over (order by i.output_index desc) as media
        from items i where i.tenant_id = p_tenant and i.response_id = p_response
          and i.output_index is not null and i.superseded_by is null) g;
  select to_json(m) into model from models m where m.tenant_id = p_tenant and m.id = r.model_id;
  select json_build_object('id', p.id, 'input', p.input_micro_usd_per_million::text,
        'cached_input', p.cached_input_micro_usd_per_million::text, 'output', p.output_micro_usd_per_million::text)
    into price from model_prices p
    where p.tenant_id = p_tenant and p.model_id = r.model_id and p.valid_from <= now()
    order by p.valid_from desc, p.id desc limit 1;
  select json_build_object('usage', app.sum_usage(p_tenant, p_response),
        -- The text of an interrupted attempt is kept if the next attempt continued it.
        'kept_output_tokens', coalesce(sum(u.output_tokens) filter (where u.settled and (not u.aborted
          or u.iteration <> p_iteration and exists (select from turn_attempts next
            where next.tenant_id = p_tenant and next.response_id = p_response and next.iteration = u.iteration
              and next.attempt = u.attempt + 1 and next.continuation in ('prefill', 'instruct', 'restart')))), 0),
        'unsettled', coalesce(json_agg(json_build_object('iteration', u.iteration, 'attempt', u.attempt))
          filter (where not u.settled), '[]'))
    into ledger from usage_ledger u where u.tenant_id = p_tenant and u.response_id = p_response;
  return next;
end $$;

-- The epoch and next number of the lane, the database's clock, and whether another response waits for this one to
-- end.
create or replace function app.read_lane(p_tenant uuid, p_response text)
returns table (epoch integer, next_n integer, now_ms double precision, awaited boolean)
language plpgsql stable as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  return query
    select r.writer_epoch, r.next_n, floor(extract(epoch from clock_timestamp()) * 1000)::float8,
      exists (select from responses w where w.tenant_id = p_tenant and w.waits_for = p_response)
    from responses r where r.tenant_id = p_tenant and r.id = p_response and r.expires_at > now();
end $$;

-- A call of the ledger and the head of its response; either is null if it cannot be read.
create or replace function app.read_call(p_tenant uuid, p_response text, p_iteration integer, p_index integer)
returns table (head json, call json) language plpgsql stable as $$
declare
  r responses;
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  select * into r from responses where tenant_id = p_tenant and id = p_response and expires_at > now();
  if found then
    head := app.read_head(p_tenant, r);
  end if;
  select to_json(c) into call from tool_calls c
    where c.tenant_id = p_tenant and c.response_id = p_response and c.iteration = p_iteration and c.call_index = p_index;
  return next;
end $$;

-- Renews the lease of the attempt that holds a call, or releases it. False: another attempt holds the call, or it is
-- settled.
create or replace function app.hold_call(p_tenant uuid, p_response text, p_iteration integer, p_index integer, p_nonce uuid,
  p_lease_seconds double precision)
returns boolean language plpgsql as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  update tool_calls set claim_nonce = case when p_lease_seconds is null then null else p_nonce end,
      leased_until = clock_timestamp() + make_interval(secs => p_lease_seconds)
    where tenant_id = p_tenant and response_id = p_response and iteration = p_iteration and call_index = p_index
      and status = 'started' and claim_nonce = p_nonce;
  return found;
end $$;

-- Writes one change of a response, all or nothing: the head's new values, rows and events; wakes readers.
-- 'conflict': the response has changed since it was read (its epoch, its next number or the call's status differs).
-- 'blocked': it would end while another response waits for its end. Nothing is written in either case.
-- A change with `locked` comes from a transaction that has locked the head, also past its expiry, and that releases
-- waiting responses itself: such an end is not refused.
-- What it sets of the head is all that can change after the insert (`fixed` of response-change.ts).
create or replace function app.write_response(p_tenant uuid, p_response text, p_epoch integer, p_next_n integer, p_change jsonb)
returns text language plpgsql as $$
declare
  old responses;
  new responses;
  is_locked constant boolean := p_change ? 'locked';
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  select * into old from responses
    where tenant_id = p_tenant and id = p_response and (is_locked or expires_at > now())
    for no key update;
  if not found or old.writer_epoch <> p_epoch or old.next_n <> p_next_n then
    return 'conflict';
  end if;
  if p_change -> 'head' ? 'finished_at' and not is_locked
      and exists (select from responses where tenant_id = p_tenant and waits_for = p_response) then
    return 'blocked';
  end if;
  if p_change ? 'call' then
    -- A call under another attempt's lease stays with that attempt, unless the tool's answer is known.
    update tool_calls c set status = n.status, attempts = n.attempts, outcome = n.outcome,
        result_digest = n.result_digest, started_at = n.started_at, done_at = n.done_at,
        claim_nonce = coalesce(n.nonce, c.claim_nonce),
        leased_until = case when n.lease_seconds is null then c.leased_until
          else clock_timestamp() + make_interval(secs => n.lease_seconds) end
      from jsonb_to_record(p_change -> 'call') as n(iteration integer, call_index integer, was text, status text,
        attempts integer, outcome text, result_digest text, started_at timestamptz, done_at timestamptz, nonce uuid,
        lease_seconds double precision, known boolean)
      where c.tenant_id = p_tenant and c.response_id = p_response and c.iteration = n.iteration
        and c.call_index = n.call_index and c.status = n.was
        and (n.known or c.claim_nonce is null or c.claim_nonce = n.nonce or c.leased_until <= clock_timestamp());
    if not found then
      return 'conflict';
    end if;
  end if;
  if p_change ? 'head' then
    new := jsonb_populate_record(old, p_change -> 'head');
    update responses set status = new.status, writer_epoch = new.writer_epoch, next_n = new.next_n,
        next_output_index = new.next_output_index, iteration_count = new.iteration_count,
        tool_call_count = new.tool_call_count, attempts = new.attempts, failure = new.failure,
        incomplete_reason = new.incomplete_reason, started_at = new.started_at, deadline_at = new.deadline_at,
        cancelled_by = new.cancelled_by, finished_at = new.finished_at, expires_at = new.expires_at, chain_depth = new.chain_depth,
        waits_for = new.waits_for, context_from = new.context_from, history_due = new.history_due, record = new.record,
        queued_since = new.queued_since, governance = new.governance, thread_id = new.thread_id, branch_id = new.branch_id
      where tenant_id = p_tenant and id = p_response;
    -- Events of a response are partitioned by its expiry, so they move with it.
    if new.expires_at <> old.expires_at then
      update response_ids set expires_at = new.expires_at where tenant_id = p_tenant and id = p_response;
      update stream_runs set expires_at = new.expires_at where tenant_id = p_tenant and response_id = p_response;
    end if;
  else
    new := old;
  end if;
  if p_change ? 'events' then
    insert into stream_runs (tenant_id, response_id, first_n, n, events, expires_at)
      values (p_tenant, p_response, p_next_n, new.next_n - p_next_n, p_change ->> 'events', new.expires_at);
    perform pg_notify('wake', p_response || ':' || (new.next_n - 1));
  end if;
  if p_change ? 'items' then
    insert into items (tenant_id, id, response_id, output_index, type, wire, exchange, provider_state, superseded_by)
      select p_tenant, n.id, p_response, n.output_index, n.type, n.wire, n.exchange, n.provider_state, n.superseded_by
      from jsonb_to_recordset(p_change -> 'items') as n(id text, output_index integer, type text, wire text,
        exchange jsonb, provider_state jsonb, superseded_by text);
  end if;
  if p_change ? 'context' then
    insert into response_context (tenant_id, response_id, position, item_id)
      select p_tenant, p_response, n.position, n.item_id
      from jsonb_to_recordset(p_change -> 'context') as n(position integer, item_id text);
  end if;
  if p_change ? 'starts' then
    insert into outbox (tenant_id, id, kind, workflow_type, workflow_id, payload, claimed_until)
      select p_tenant, n.id, 'start', n.workflow_type, n.workflow_id, n.payload, now() + make_interval(secs => n.lease_seconds)
      from jsonb_to_recordset(p_change -> 'starts') as n(id uuid, workflow_type text, workflow_id text, payload jsonb,
        lease_seconds double precision);
  end if;
  if p_change ? 'turn' then
    insert into turns (tenant_id, response_id, iteration, status, first_n, first_output_index, result, committed_at)
      select p_tenant, p_response, n.iteration, n.status, n.first_n, n.first_output_index, n.result, n.committed_at
      from jsonb_to_record(p_change -> 'turn') as n(iteration integer, status text, first_n integer,
        first_output_index integer, result jsonb, committed_at timestamptz)
      on conflict (tenant_id, response_id, iteration) do update
        set status = excluded.status, result = excluded.result, committed_at = excluded.committed_at;
  end if;
  if p_change ? 'attempt' then
    insert into turn_attempts (tenant_id, response_id, iteration, attempt, epoch, first_n, prefix_length, continuation,
        run_id, started_at)
      select p_tenant, p_response, n.iteration, n.attempt, n.epoch, n.first_n, n.prefix_length, n.continuation,
        n.run_id, n.started_at
      from jsonb_to_record(p_change -> 'attempt') as n(iteration integer, attempt integer, epoch integer,
        first_n integer, prefix_length integer, continuation text, run_id text, started_at timestamptz);
    -- Unsettled entries belong to the interrupted run, whose input this attempt reads again and pays for.
    update usage_ledger set input_tokens = 0, aborted = true, settled = true
      where tenant_id = p_tenant and response_id = p_response and kind = 'attempt' and not settled;
    insert into usage_ledger (tenant_id, response_id, iteration, attempt, space_id, principal_id, model_id, price_id,
        input_tokens)
      select p_tenant, p_response, n.iteration, n.attempt, old.space_id, old.principal_id, old.model_id, n.price_id,
        n.input_tokens
      from jsonb_to_record(p_change -> 'attempt') as n(iteration integer, attempt integer, price_id uuid,
        input_tokens bigint);
  end if;
  if p_change ? 'committed' then
    update turn_attempts a set outcome = 'committed', ended_at = n.ended_at
      from jsonb_to_record(p_change -> 'committed') as n(iteration integer, attempt integer, ended_at timestamptz)
      where a.tenant_id = p_tenant and a.response_id = p_response
        and a.iteration = n.iteration and a.attempt = n.attempt;
    update usage_ledger u set input_tokens = n.input_tokens, cached_input_tokens = n.cached_input_tokens,
        output_tokens = n.output_tokens, reasoning_tokens = n.reasoning_tokens, cost_pico_usd = n.cost_pico_usd,
        estimated = n.estimated, aborted = false, settled = true
      from jsonb_to_record(p_change -> 'committed') as n(iteration integer, attempt integer, input_tokens bigint,
        cached_input_tokens bigint, output_tokens bigint, reasoning_tokens bigint, cost_pico_usd bigint, estimated boolean)
      where u.tenant_id = p_tenant and u.response_id = p_response and u.iteration = n.iteration
        and u.attempt = n.attempt and u.kind = 'attempt' and not u.settled;
  end if;
  if p_change ? 'calls' then
    insert into tool_calls (tenant_id, response_id, iteration, call_index, call_id, item_id, output_index, tool,
        server_label, tool_name, schema_hash, approval_request_id, arguments, idempotency_key, first_label, provider_state)
      select p_tenant, p_response, n.iteration, n.call_index, n.call_id, n.item_id, n.output_index, n.tool,
        n.server_label, n.tool_name, n.schema_hash, n.approval_request_id, n.arguments, n.idempotency_key, n.first_label, n.provider_state
      from jsonb_to_recordset(p_change -> 'calls') as n(iteration integer, call_index integer, call_id text, item_id text,
        output_index integer, tool text, server_label text, tool_name text, schema_hash text, approval_request_id text, arguments text,
        idempotency_key text, first_label integer, provider_state jsonb);
  end if;
  if p_change ? 'audits' then
    perform app.record_events(p_tenant, p_change -> 'audits');
  end if;
  return 'applied';
end $$;
