-- The keyword side of the search: candidates from an index by collection and word, ranked by BM25; the language of words.

create or replace function app.lexeme_key(p_tenant uuid, p_collection uuid, p_lexeme text) returns bigint
language sql immutable strict parallel safe as $$
  select hashtextextended(p_lexeme collate "C", uuid_hash_extended(p_collection, uuid_hash_extended(p_tenant, 0)))
$$;

create or replace function app.lexeme_keys(p_tenant uuid, p_collection uuid, p_words tsvector) returns bigint[]
language sql immutable strict parallel safe as $$
  select array_agg(hashtextextended(l collate "C", uuid_hash_extended(p_collection, uuid_hash_extended(p_tenant, 0))))
  from unnest(tsvector_to_array(p_words)) as l
$$;

-- The best passages of the transaction's tenant for some words, best first: addresses and scores only. Their text is
-- read by the caller, under row-level security. Candidates are the passages with any of the first p_rare words; the
-- words after them only add to a score. A score is tanh of BM25 relative to a passage of average length that has every
-- word once: it means the same for every question. A part of it is the BM25 of the candidates of the passage's document
-- taken together, since a passage says little about its subject that its document has named before; it is a window over
-- them, as a join of what PostgreSQL takes for few rows would compare each of thousands with each. p_df says how many
-- of p_total passages contain a word; null for a word whose passages all are candidates: they are counted. Of the
-- collections p_enforced only documents are ranked that have one of p_readers, or no readers at their source; null: none
-- is such, and the statement has no condition for it. Only passages are ranked whose words are of the language p_config;
-- null: of any. No condition of the first step says so: the statistics of a table know nothing of a language to come.
-- Tenant and collections stand in sub-selects, so that the planner does not see them: where its statistics do not know
-- them it would expect one candidate. Max 20,000 passages are ranked: where the rarest word of a question is in more, those
-- that the index gives first stand for all, since ranking a million would take longer than a search may. The limit stands
-- behind every condition: what may not be found takes no place.
create or replace function app.rank_passages_of_language(
  p_config regconfig, p_collections uuid[], p_lexemes text[], p_df float8[], p_rare integer, p_total float8, p_documents uuid[],
  p_enforced uuid[], p_readers text[], p_limit integer)
returns table (document_id uuid, generation integer, "position" integer, score float8, coverage float8)
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp set enable_seqscan = off set jit = off as $$
declare
  tenant constant uuid := nullif(current_setting('app.tenant_id', true), '')::uuid;
  words constant integer := cardinality(p_lexemes);
  -- BM25's k1 and b, and the part of the document. Chosen by `npm run bench:knowledge`.
  saturation constant float8 := 2;
  shortness constant float8 := 0.5;
  context constant float8 := 0.5;
  max_candidates constant integer := 20000;
  keys constant bigint[] := array(
    select app.lexeme_key(tenant, c, l) from unnest(p_collections) c, unnest(p_lexemes[:p_rare]) l);
  queries constant tsquery[] := array(
    select ('''' || replace(replace(l, '\', '\\'), '''', '''''') || '''')::tsquery from unnest(p_lexemes) with ordinality as w(l, n) order by n);
  -- of one word, ts_rank is a function of how often it occurs: 0.1 × (1 + 1/2² + … + 1/tf²) ÷ (π²/6)
  ranks constant text := (select string_agg(format('ts_rank(c.tsv, ($2)[%1$s]) as t%1$s', n), ', ') from generate_series(1, words) n);
  occurrences constant text := (select string_agg(format(
    'case when t%1$s > 0 then 1 / greatest(1.644935 - 16.44934 * t%1$s, 1e-4) - 0.5 else 0 end as f%1$s', n), ', ')
    from generate_series(1, words) n);
  counts constant text := (select string_agg(format('count(*) filter (where f%1$s > 0)', n), ', ') from generate_series(1, words) n);
  sums constant text := (select string_agg(format('sum(c.f%1$s) over d as d%1$s', n), ', ') from generate_series(1, words) n);
  terms constant text := (select string_agg(format('w.w[%1$s] * p.f%1$s / (p.f%1$s + p.k)', n), ' + ') from generate_series(1, words) n);
  contexts constant text := (select string_agg(format('w.w[%1$s] * p.d%1$s / (p.d%1$s + p.text_k)', n), ' + ') from generate_series(1, words) n);
  present constant text := (select string_agg(format('case when p.f%1$s > 0 then w.w[%1$s] else 0 end', n), ' + ') from generate_series(1, words) n);
  readable constant text := case when p_enforced is null then '' else
    'and (d.collection_id <> all ($9) or d.source_readers is null
       or exists (select from unnest(d.source_readers) reader where reader = any ($10)))' end;
  spoken constant text := case when p_config is null then 'true' else 'c.config = $11' end;
begin
  return query execute format($sql$
    with found as materialized (
      select c.document_id, c.generation, c.position, length(c.tsv)::float8 as size, %13$s as spoken, %1$s
      from public.chunks c
      where app.lexeme_keys(c.tenant_id, c.collection_id, c.tsv) && $1),
    candidates as materialized (
      select f.document_id, f.generation, f.position, f.size, %2$s
      from found f join public.documents d on d.tenant_id = (select $3) and d.id = f.document_id and d.generation = f.generation
      where f.spoken and d.collection_id = any (array(select unnest($4))) and ($5 is null or f.document_id in (select unnest($5))) %12$s
      limit %14$s),
    together as materialized (
      select c.*, sum(c.size) over d as text_size, row_number() over d = 1 as is_first, %4$s
      from candidates c window d as (partition by c.document_id)),
    counted as materialized (
      select array[%3$s] as n, avg(size) as size, avg(text_size) filter (where is_first) as text_size from together),
    words as materialized (
      select array_agg(case when x.df > 0 then ln(1 + greatest($6 - x.df, 0) / (x.df + 0.5) + 0.5) end order by x.i) as w
      from counted c, lateral (select i, coalesce(($7)[i], (c.n)[i]) as df from generate_series(1, %8$s) i) x),
    weights as materialized (
      select array(select coalesce(x, (select avg(y) from unnest(w.w) y)) from unnest(w.w) with ordinality as u(x, i) order by i) as w from words w),
    whole as materialized (
      select w.w, (select sum(x) from unnest(w.w) x) as total, c.size, c.text_size from weights w cross join counted c),
    placed as (
      select p.*, %9$s * (1 - %10$s + %10$s * p.size / w.size) as k,
        %9$s * (1 - %10$s + %10$s * p.text_size / w.text_size) as text_k
      from together p cross join whole w)
    select p.document_id, p.generation, p.position,
      tanh((1 + %9$s) * ((1 - %11$s) * (%5$s) + %11$s * (%6$s)) / w.total)::float8, ((%7$s) / w.total)::float8
    from placed p cross join whole w
    order by 4 desc, 1, 3 limit $8
  $sql$, ranks, occurrences, counts, sums, terms, contexts, present, words, saturation, shortness, context, readable, spoken, max_candidates)
  using keys, queries, tenant, p_collections, p_documents, p_total, p_df, p_limit, p_enforced, p_readers, p_config;
end $$;

-- How many passages of some collections contain each word, for collections without statistics. Counting ends at p_limit.
-- Every so many of the collections, 16 at most, stand for all: a scan compares each passage with the keys of each.
create or replace function app.count_lexemes(p_collections uuid[], p_lexemes text[], p_limit integer)
returns table (lexeme text, df float8)
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp set enable_seqscan = off set jit = off as $$
declare
  tenant constant uuid := nullif(current_setting('app.tenant_id', true), '')::uuid;
  step constant integer := ceil(cardinality(p_collections) / 16.0);
  sample constant uuid[] := array(
    select c from unnest(p_collections) with ordinality as u(c, n) where n % step = 0);
begin
  foreach lexeme in array p_lexemes loop
    select count(*)::float8 * cardinality(p_collections) / cardinality(sample) into df from (
      select from public.chunks c
      where app.lexeme_keys(c.tenant_id, c.collection_id, c.tsv) &&
        array(select app.lexeme_key(tenant, s, lexeme) from unnest(sample) s)
      limit p_limit) counted;
    return next;
  end loop;
end $$;

-- For processes of the version before, which ask all passages of a collection in its language.
create or replace function app.rank_readable_passages(
  p_collections uuid[], p_lexemes text[], p_df float8[], p_rare integer, p_total float8, p_documents uuid[],
  p_enforced uuid[], p_readers text[], p_limit integer)
returns table (document_id uuid, generation integer, "position" integer, score float8, coverage float8)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select * from app.rank_passages_of_language(
    null, p_collections, p_lexemes, p_df, p_rare, p_total, p_documents, p_enforced, p_readers, p_limit)
$$;

-- For processes of a version that knows no readers.
create or replace function app.rank_passages(
  p_collections uuid[], p_lexemes text[], p_df float8[], p_rare integer, p_total float8, p_documents uuid[], p_limit integer)
returns table (document_id uuid, generation integer, "position" integer, score float8, coverage float8)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select * from app.rank_readable_passages(p_collections, p_lexemes, p_df, p_rare, p_total, p_documents, null, null, p_limit)
$$;

-- Estimates the document frequencies of a collection's frequent words from passages at equal distances. A word that is
-- in fewer than four of the sample is not listed: it is rare. Planned for an average collection: of one of a tenant that
-- the statistics of PostgreSQL have not seen it would read all passages for each of the sample.
create or replace function app.refresh_lexeme_stats() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp set enable_seqscan = off
set plan_cache_mode = force_generic_plan as $$
declare
  sample constant integer := 4096;
begin
  delete from lexeme_stats s where s.tenant_id = new.tenant_id and s.collection_id = new.id;
  insert into lexeme_stats (tenant_id, collection_id, lexeme, df)
  with placed as (
    select d.id, d.generation, d.chunk_count, sum(d.chunk_count) over (order by d.id) - d.chunk_count as before
    from documents d where d.tenant_id = new.tenant_id and d.collection_id = new.id and d.chunk_count > 0),
  size as (select sum(chunk_count)::float8 as n, greatest(1, sum(chunk_count)::float8 / sample) as step from placed),
  picked as (
    select p.id, p.generation, floor(i * s.step - p.before)::integer as position
    from placed p cross join size s
    cross join lateral generate_series(ceil(p.before / s.step)::bigint, ceil((p.before + p.chunk_count) / s.step)::bigint - 1) as i),
  -- The limit keeps it one look-up by primary key for each passage: a join is planned by statistics of the table, which
  -- do not know the rows of this transaction, and then compares each passage with all.
  words as (
    select unnest(tsvector_to_array(c.tsv)) as lexeme
    from picked p cross join lateral (
      select tsv from chunks
      where tenant_id = new.tenant_id and document_id = p.id and generation = p.generation and position = p.position
      limit 1) c)
  select new.tenant_id, new.id, w.lexeme, round(count(*) * (select step from size))
  from words w group by w.lexeme having count(*) >= 4;
  update collections c set lexeme_chunks = c.chunk_count where c.tenant_id = new.tenant_id and c.id = new.id;
  return null;
end $$;

-- Collections whose statistics their trigger would refresh, by the same condition: those that were filled by a version
-- without statistics.
create or replace function app.list_unmeasured_collections(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, collection_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select c.tenant_id, c.id from public.collections c
  where c.chunk_count >= 2000 and c.chunk_count > 1.25 * c.lexeme_chunks
    and (c.tenant_id, c.id) > (p_after_tenant, p_after_id)
  order by c.tenant_id, c.id limit p_limit
$$;

-- From the commit on, searches ask passages in the former language, too. A further change begins at the newest document
-- again: passages may then have each of the languages before. The caller holds the lock of the collection's row, which
-- each transaction that stores or indexes passages shares.
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

select pg_temp.secure_function('app.lexeme_key(uuid, uuid, text)', 'app_owner', '{app_rt,app_purge,app_system}'),
  pg_temp.secure_function('app.lexeme_keys(uuid, uuid, tsvector)', 'app_owner', '{app_rt,app_purge,app_system}');
