-- What the keyword search needs beside the passages: how many passages of a collection contain a frequent word, and an
-- index by collection and word. The index on `tsv` served no search: under row-level security `@@` is no condition of an
-- index, as it may reveal its arguments.
drop index chunks_tsv_idx;

-- Estimated from a sample of a collection's passages; a word that is not listed is rare. See `app.refresh_lexeme_stats`.
-- Statistics are relative to `lexeme_chunks`: a deletion lowers a frequency by the collection's new size.
create table lexeme_stats (
  tenant_id uuid not null references tenants,
  collection_id uuid not null,
  lexeme text collate "C" not null,
  -- passages that contain it
  df integer not null check (df > 0),
  primary key (tenant_id, collection_id, lexeme),
  foreign key (tenant_id, collection_id) references collections on delete cascade
);
-- The number of passages that the statistics are of; 0: there are none, and every word counts as rare.
alter table collections add column lexeme_chunks bigint not null default 0;
-- Refreshed in the transaction by which the collection has grown by a quarter. It holds the lock of the collection's row.
create function app.refresh_lexeme_stats() returns trigger language plpgsql as 'begin return null; end';
create trigger refresh_lexeme_stats after update of chunk_count on collections
  for each row when (new.chunk_count >= 2000 and new.chunk_count > 1.25 * new.lexeme_chunks)
  execute function app.refresh_lexeme_stats();

-- Keys of an index are functions of the row; its body never changes: another one needs another name and a new index.
create function app.lexeme_key(p_tenant uuid, p_collection uuid, p_lexeme text) returns bigint
language sql immutable strict parallel safe as $$
  select hashtextextended(p_lexeme collate "C", uuid_hash_extended(p_collection, uuid_hash_extended(p_tenant, 0)))
$$;
create function app.lexeme_keys(p_tenant uuid, p_collection uuid, p_words tsvector) returns bigint[]
language sql immutable strict parallel safe as $$
  select array_agg(hashtextextended(l collate "C", uuid_hash_extended(p_collection, uuid_hash_extended(p_tenant, 0))))
  from unnest(tsvector_to_array(p_words)) as l
$$;
create index chunks_lexeme_keys on chunks using gin (app.lexeme_keys(tenant_id, collection_id, tsv))
  with (gin_pending_list_limit = 256);

select pg_temp.secure_tenant_table('lexeme_stats');
select pg_temp.show_to_system('chunks', 'tenant_id, collection_id, document_id, generation, position, tsv');
grant select (generation, collection_id) on documents to app_system;
