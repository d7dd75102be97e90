-- Documents.

-- Documents whose extraction takes too long.
create or replace function app.list_unprocessed(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, document_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select d.tenant_id, d.id from public.documents d
  where d.status = 'processing' and d.created_at < now() - interval '30 seconds'
    and (d.tenant_id, d.id) > (p_after_tenant, p_after_id)
  order by d.tenant_id, d.id limit p_limit
$$;
