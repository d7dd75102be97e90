-- Reading functions are STABLE: all their queries see the snapshot of the one call, so that a turn which commits
-- meanwhile is seen either open or committed, never neither.

-- Responses for many readers at once, each with all that its GET needs. One row per element of the arrays: access
-- (null: as in the previous row), owner, and the record as JSON of a response that has ended. Other nulls mean not
-- found, or that a running response is in the other columns; by ids the caller distinguishes expired from unknown.
-- With p_bare only the columns for access control are read.
create or replace function app.read_responses(
  p_tenant uuid[], p_principal uuid[], p_space uuid[], p_response text[], p_bare boolean[])
returns table (access text, owner uuid, next_n integer, expires_in_ms double precision, record text,
  ids jsonb, head jsonb, items jsonb, usage jsonb, open_calls jsonb, open_events text)
language plpgsql stable as $$
declare
  i integer;
begin
  for i in 1 .. cardinality(p_tenant) loop
    access := null;
    ids := null;
    head := null;
    items := null;
    usage := null;
    open_calls := null;
    open_events := null;
    if i = 1 or p_tenant[i] <> p_tenant[i - 1] or p_principal[i] <> p_principal[i - 1] or p_space[i] <> p_space[i - 1] then
      -- Sets the tenant too.
      access := app.read_access(p_tenant[i], p_principal[i], p_space[i]);
    end if;
    select r.principal_id, r.next_n, ceil(extract(epoch from r.expires_at - now()) * 1000),
        case when not p_bare[i] then r.record end
      into owner, next_n, expires_in_ms, record from responses r
      where r.tenant_id = p_tenant[i] and r.id = p_response[i] and r.space_id = p_space[i] and r.expires_at > now();
    if not found then
      -- Only a missing response needs the reason.
      select d.principal_id, jsonb_build_object('expired', d.expires_at <= now(), 'deleted', d.deleted_at is not null)
        into owner, ids from response_ids d
        where d.tenant_id = p_tenant[i] and d.id = p_response[i] and d.space_id = p_space[i];
    elsif record is null and not p_bare[i] then
      select u.head, u.items, u.usage, u.open_calls, u.open_events
        into head, items, usage, open_calls, open_events from app.read_unfinished(p_tenant[i], p_response[i]) u;
    end if;
    return next;
  end loop;
end $$;

-- The head, the finished items and the usage of a response without a record and, while it runs, its calls and the
-- events of the open turn.
create or replace function app.read_unfinished(p_tenant uuid, p_response text)
returns table (head jsonb, items jsonb, usage jsonb, open_calls jsonb, open_events text) language plpgsql stable as $$
declare
  v_turn_first integer;
  v_expires timestamptz;
begin
  select r.expires_at, jsonb_build_object(
      'id', r.id, 'status', r.status, 'space_id', r.space_id, 'model', r.model, 'model_alias', r.model_alias,
      'previous_response_id', r.previous_response_id, 'governance', r.governance, 'iteration_count', r.iteration_count,
      'failure', r.failure, 'incomplete_reason', r.incomplete_reason, 'attempts', r.attempts,
      'tool_call_count', r.tool_call_count, 'cancelled_by', r.cancelled_by, 'metadata', r.metadata,
      'thread_id', r.thread_id, 'branch_id', r.branch_id,
      'created_at', to_char(r.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'finished_at', to_char(r.finished_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'expires_at', to_char(r.expires_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    into v_expires, head from responses r
    where r.tenant_id = p_tenant and r.id = p_response and r.expires_at > now();
  if not found then
    return;
  end if;
  select coalesce(jsonb_agg(jsonb_build_object('output_index', i.output_index, 'wire', i.wire)), '[]') into items from items i
    where i.tenant_id = p_tenant and i.response_id = p_response
      and i.output_index is not null and i.superseded_by is null;
  usage := app.sum_usage(p_tenant, p_response);
  if head ->> 'status' = 'in_progress' then
    select coalesce(jsonb_agg(jsonb_build_object('itemId', c.item_id, 'outputIndex', c.output_index, 'arguments', c.arguments,
        'tool', c.tool, 'serverLabel', c.server_label, 'toolName', c.tool_name, 'approvalRequestId', c.approval_request_id)
        order by c.output_index), '[]') into open_calls from tool_calls c
      where c.tenant_id = p_tenant and c.response_id = p_response and c.status <> 'done';
    select t.first_n into v_turn_first from turns t
      where t.tenant_id = p_tenant and t.response_id = p_response and t.status = 'open'
      order by t.iteration desc limit 1;
    if v_turn_first is not null then
      select string_agg(s.events, e'\n' order by s.first_n) into open_events from stream_runs s
        where s.tenant_id = p_tenant and s.response_id = p_response and s.expires_at = v_expires
          and s.first_n >= v_turn_first;
    end if;
  end if;
  return next;
end $$;

-- The request of a response. It may be large and few readers need it, so read_response leaves it out.
create or replace function app.read_request(p_tenant uuid, p_response text) returns jsonb language plpgsql stable as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  return (select r.request from responses r
    where r.tenant_id = p_tenant and r.id = p_response and r.expires_at > now());
end $$;

create or replace function app.sum_usage(p_tenant uuid, p_response text) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'input_tokens', coalesce(sum(input_tokens), 0)::bigint,
    'cached_input_tokens', coalesce(sum(cached_input_tokens), 0)::bigint,
    'output_tokens', coalesce(sum(output_tokens), 0)::bigint,
    'reasoning_tokens', coalesce(sum(reasoning_tokens), 0)::bigint,
    'cost_pico_usd', coalesce(sum(cost_pico_usd), 0)::text)
  from usage_ledger where tenant_id = p_tenant and response_id = p_response and settled
$$;
