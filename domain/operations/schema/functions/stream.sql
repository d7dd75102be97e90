-- Stream events of responses.

-- Appends runs of stream events for many responses at once. Per element: 'in', 'fenced' (another writer holds the
-- model lane, or next_n is not first_n) or 'busy' (another transaction has locked the head: retry). Never waits for a
-- lock and never raises for one element, so that a locked response does not delay the others.
create or replace function app.append_stream(
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
    -- No waiting: a head that another transaction has locked returns busy.
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

-- The runs after a cursor for many attached readers at once. A row is a run; n may lie before p_after inside the
-- first run, which the reader drops. Every run of a response expires with it, so its expiry selects the single
-- partition to read. An expired response returns no runs, although it may still be running.
create or replace function app.read_streams(p_tenant uuid[], p_response text[], p_after integer[], p_limit integer)
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
