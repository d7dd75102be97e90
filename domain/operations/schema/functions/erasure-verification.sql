-- What the verifier of an erasure asks beside the rows that it counts.

-- Messages of other tenants that mention one of the ids. Ids only come in, a number only goes out.
create or replace function app.count_outbox_mentions(p_tenant uuid, p_ids text[]) returns bigint
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select count(*) from public.outbox o
  where o.tenant_id <> p_tenant
    and exists (select from unnest(p_ids) i where position(i in o.workflow_id || ' ' || o.payload::text) > 0)
$$;

-- Nobody but the verifier calls it.
select pg_temp.secure_function('app.count_outbox_mentions(uuid,text[])', 'app_system', '{}');
grant execute on function app.count_outbox_mentions(uuid, text[]) to app_verifier;
