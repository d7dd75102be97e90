-- A collection has a row from a change of its language until all its passages have the words of the new one. Its
-- documents are read from the newest to the oldest: the columns of the place name the last passage that was looked at.
create table language_changes (
  tenant_id uuid not null references tenants,
  collection_id uuid not null,
  -- what passages may have beside the collection's text_search_config
  former regconfig[] not null,
  chunks_total bigint not null,
  chunks_done bigint not null default 0,
  -- when the statistics of words were last refreshed
  chunks_measured bigint not null default 0,
  document_created_at timestamptz not null default 'infinity',
  document_id uuid not null default 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  position integer not null default 2147483647,
  started_at timestamptz not null default now(),
  primary key (tenant_id, collection_id),
  foreign key (tenant_id, collection_id) references collections on delete cascade
);

-- The body stands in ../../functions/.
create function app.begin_language_change() returns trigger language plpgsql as 'begin return null; end';
create trigger begin_language_change after update of text_search_config on collections
  for each row when (new.text_search_config <> old.text_search_config) execute function app.begin_language_change();

-- Readings that failed have left passages in the language that their collection had before, one language a document. Few
-- documents are looked at, and one passage of each: the migration holds locks, and passages have no index by language.
insert into language_changes (tenant_id, collection_id, former, chunks_total)
select c.tenant_id, c.id, array_agg(distinct p.config), c.chunk_count
from documents d
join collections c on c.tenant_id = d.tenant_id and c.id = d.collection_id
cross join lateral (
  select config from chunks
  where tenant_id = d.tenant_id and document_id = d.id and generation = d.generation
  limit 1) p
where d.status in ('failed', 'processing') and d.chunk_count > 0 and p.config <> c.text_search_config
group by c.tenant_id, c.id;

select pg_temp.secure_tenant_table('language_changes');
select pg_temp.show_to_system('language_changes', 'tenant_id');
-- What app.rank_passages_of_language compares.
grant select (config) on chunks to app_system;
