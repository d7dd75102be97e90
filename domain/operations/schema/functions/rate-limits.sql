-- Rate limits.

-- Takes up to p_want tokens, none if less than one is left. p_rate is per second, p_burst is the size of the bucket.
create or replace function app.take_tokens(p_tenant uuid, p_want integer, p_rate double precision, p_burst double precision)
returns table (taken integer, rest double precision) language plpgsql as $$
declare
  v_tokens double precision;
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  insert into rate_buckets as b (tenant_id, tokens, filled_at) values (p_tenant, p_burst, clock_timestamp())
    on conflict (tenant_id) do update
      -- The clock is read under the row's lock, so that a caller that waited for the lock gets the tokens added
      -- since.
      set tokens = least(p_burst, b.tokens + greatest(0, extract(epoch from clock_timestamp() - b.filled_at)) * p_rate),
          -- Also if the clock was set back: keeping the later time would refuse every request until the clock catches
          -- up.
          filled_at = clock_timestamp()
    returning b.tokens into v_tokens;
  taken := least(p_want, floor(v_tokens)::integer);
  rest := v_tokens - taken;
  if taken > 0 then
    update rate_buckets b set tokens = rest where b.tenant_id = p_tenant;
  end if;
  return next;
end $$;
