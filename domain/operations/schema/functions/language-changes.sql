-- Changes of the languages of collections.

-- From the commit on, searches ask passages in the former language, too. A further change begins at the newest document
-- again: passages may then have each of the languages before. The caller holds the lock of the collection's row, which
-- whoever stores or indexes passages shares.
create or replace function app.begin_language_change() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  update language_changes g set
    former = array(select distinct f from unnest(g.former || old.text_search_config) f where f <> new.text_search_config),
    chunks_total = new.chunk_count, chunks_done = default, chunks_measured = default, document_created_at = default,
    document_id = default, "position" = default, started_at = default
  where g.tenant_id = new.tenant_id and g.collection_id = new.id;
  if not found and new.chunk_count > 0 then
    insert into language_changes (tenant_id, collection_id, former, chunks_total)
    values (new.tenant_id, new.id, array[old.text_search_config], new.chunk_count);
  end if;
  return null;
end $$;

-- Tenants with such a change. Their changes take turns among themselves, so that no place inside a tenant is needed.
create or replace function app.list_language_changes(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select distinct g.tenant_id from public.language_changes g where g.tenant_id > p_after_tenant
  order by g.tenant_id limit p_limit
$$;
