-- The bytes of documents and the generations of their passages.

create or replace function app.count_chunks() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    update collections c set chunk_count = c.chunk_count + s.n
    from (select a.tenant_id, a.collection_id, sum(a.chunk_count) as n from added a group by 1, 2) s
    where c.tenant_id = s.tenant_id and c.id = s.collection_id and s.n <> 0;
  elsif tg_op = 'UPDATE' then
    update collections c set chunk_count = c.chunk_count + s.n
    from (select a.tenant_id, a.collection_id, sum(a.chunk_count - r.chunk_count) as n
          from added a join removed r on r.tenant_id = a.tenant_id and r.id = a.id group by 1, 2) s
    where c.tenant_id = s.tenant_id and c.id = s.collection_id and s.n <> 0;
  else
    update collections c set chunk_count = c.chunk_count - s.n
    from (select r.tenant_id, r.collection_id, sum(r.chunk_count) as n from removed r group by 1, 2) s
    where c.tenant_id = s.tenant_id and c.id = s.collection_id and s.n <> 0;
  end if;
  return null;
end $$;

-- Releases the bytes of a deleted document, also if its collection was deleted. Only the purge deletes them: another
-- document may have the same bytes.
create or replace function app.release_content() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  -- In the order of the keys: two collections that are deleted at once may share several contents.
  perform from stored_objects o
  where (o.tenant_id, o.key) in (select r.tenant_id, r.content_key from removed r)
  order by o.key for no key update;
  update stored_objects o set purge_after = greatest(o.purge_after, now())
  from (select distinct r.tenant_id, r.content_key from removed r) g
  where o.tenant_id = g.tenant_id and o.key = g.content_key;
  return null;
end $$;

-- For processes of the previous version, which write the content into the document. Dropped with the column.
create or replace function app.store_inline_content() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
  content constant bytea := convert_to(new.content, 'UTF8');
  digest constant text := encode(sha256(content), 'hex');
begin
  -- The lock of an upload of the same bytes, see `PostgresByteStore`; the row's keeps the purge away.
  perform pg_advisory_xact_lock(hashtextextended(new.tenant_id || '/documents/' || digest, 0));
  select o.key into new.content_key from stored_objects o
    where o.tenant_id = new.tenant_id and split_part(o.key, '/', 1) = 'documents' and o.sha256 = digest
    for key share;
  if not found then
    new.content_key := 'documents/' || new.id;
    insert into stored_objects (tenant_id, key, sha256, byte_size)
      values (new.tenant_id, new.content_key, digest, octet_length(content));
    insert into stored_parts (tenant_id, key, position, bytes)
      select new.tenant_id, new.content_key, n, substring(content from n * 262144 + 1 for 262144)
      from generate_series(0, (octet_length(content) - 1) / 262144) as n;
  end if;
  return new;
end $$;

-- A worker of the previous version stores passages without a generation, which is the first.
create or replace function app.raise_generation() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  new.generation := greatest(old.generation, 1);
  return new;
end $$;

-- Rows for the sweeps, by keyset: ids only.
create or replace function app.list_released_objects(p_after_tenant uuid, p_after_key text, p_limit integer)
returns table (tenant_id uuid, key text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select o.tenant_id, o.key from public.stored_objects o
  where o.purge_after < now() and (o.tenant_id, o.key) > (p_after_tenant, p_after_key)
  order by o.tenant_id, o.key limit p_limit
$$;
-- Delayed until searches that began with these passages are over, which takes seconds; with the pace of the sweep they
-- are gone within a minute.
create or replace function app.list_stale_chunks(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, document_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select d.tenant_id, d.id from public.documents d
  where d.stale_since < now() - interval '30 seconds' and (d.tenant_id, d.id) > (p_after_tenant, p_after_id)
  order by d.tenant_id, d.id limit p_limit
$$;
