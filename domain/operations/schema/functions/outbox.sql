-- The outbox: commands for Temporal.

-- Leases due rows for ten seconds, oldest first within a workflow.
create or replace function app.claim_outbox(p_limit integer)
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

-- The same, but of starts of the given types only the first `p_starts` of each tenant and type: the others keep their place.
-- The first row of each group comes before the second of any. However long the queues are, it reads at most a thousand
-- rows of each tenant, kind and type, by index: the settings keep a plan from reading the whole table.
create or replace function app.claim_outbox_in_turn(p_limit integer, p_types text[], p_starts integer)
returns table (tenant_id uuid, id uuid, kind text, workflow_type text, workflow_id text, payload jsonb)
language sql security definer set search_path = pg_catalog, public, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
  with recursive groups as (
    (select o.tenant_id, o.kind, o.workflow_type from public.outbox o
     order by o.tenant_id, o.kind, o.workflow_type limit 1)
    union all
    select n.tenant_id, n.kind, n.workflow_type from groups g cross join lateral (
      select o.tenant_id, o.kind, o.workflow_type from public.outbox o
      where (o.tenant_id, o.kind, o.workflow_type) > (g.tenant_id, g.kind, g.workflow_type)
      order by o.tenant_id, o.kind, o.workflow_type limit 1) n),
  ready as (
    select g.tenant_id, r.id, row_number() over (partition by g.tenant_id, g.kind, g.workflow_type order by r.id) as place
    from groups g cross join lateral (
      select h.id from (
        select o.id, o.workflow_id, o.claimed_until from public.outbox o
        where o.tenant_id = g.tenant_id and o.kind = g.kind and o.workflow_type = g.workflow_type
        order by o.id limit 1000) h
      where h.claimed_until < now()
        and h.id = (select earlier.id from public.outbox earlier
                    where earlier.tenant_id = g.tenant_id and earlier.workflow_id = h.workflow_id
                    order by earlier.id limit 1)
      order by h.id
      limit case when g.kind = 'start' and g.workflow_type = any (p_types) then p_starts else p_limit end) r),
  due as (
    select o.tenant_id, o.id from ready r join public.outbox o on o.tenant_id = r.tenant_id and o.id = r.id
    where o.claimed_until < now()
    order by r.place, o.id limit p_limit for update of o skip locked)
  update public.outbox o set claimed_until = now() + interval '10 seconds'
  from due where o.tenant_id = due.tenant_id and o.id = due.id
  returning o.tenant_id, o.id, o.kind, o.workflow_type, o.workflow_id, o.payload
$$;

create or replace function app.remove_outbox(p_tenant uuid, p_id uuid) returns void language plpgsql as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  delete from outbox where tenant_id = p_tenant and id = p_id;
end $$;

-- Ends the lease of a row, or gives it a new one. Without a wait, a row that no relay has claimed is afterwards like one
-- that no process was given to send: a cancel deletes a start, and a start that is cancelled already is deleted here.
-- The first lease is five seconds; a relay's begins after that and ends later.
create or replace function app.postpone_outbox(p_tenant uuid, p_id uuid, p_wait_ms double precision) returns void language plpgsql as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  if p_wait_ms > 0 then
    update outbox set claimed_until = now() + p_wait_ms * interval '1 millisecond' where tenant_id = p_tenant and id = p_id;
    return;
  end if;
  delete from outbox o
    where o.tenant_id = p_tenant and o.id = p_id and o.kind = 'start' and o.claimed_until <= o.created_at + interval '5 seconds'
      and exists (select from outbox later where later.tenant_id = p_tenant and later.workflow_id = o.workflow_id
                  and later.id > o.id and later.kind = 'cancel');
  if not found then
    update outbox set claimed_until = created_at
      where tenant_id = p_tenant and id = p_id and claimed_until <= created_at + interval '5 seconds';
  end if;
end $$;

create or replace function app.outbox_age_seconds() returns double precision
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select greatest(coalesce(extract(epoch from now() - min(o.created_at)), 0), 0) from public.outbox o
$$;

-- The same, apart from starts of the given types that no process was given to send: they wait in the turn of their tenant.
create or replace function app.outbox_age_seconds(p_types text[]) returns double precision
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select greatest(coalesce(extract(epoch from now() - min(o.created_at)), 0), 0) from public.outbox o
  where not (o.kind = 'start' and o.workflow_type = any (p_types) and o.claimed_until <= o.created_at)
$$;
