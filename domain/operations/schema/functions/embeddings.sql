-- Vectors of passages.

create or replace function app.add_builtin_embedding_model() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
  before constant text := coalesce(current_setting('app.tenant_id', true), '');
begin
  perform set_config('app.tenant_id', new.tenant_id::text, true);
  insert into embedding_models (tenant_id, id, alias, provider_kind, provider_model, dims, max_tokens, pooling, query_prefix)
  values (new.tenant_id, gen_random_uuid(), 'builtin', 'builtin', 'bge-small-en-v1.5', 384, 512, 'cls',
    'Represent this sentence for searching relevant passages: ');
  perform set_config('app.tenant_id', before, true);
  return null;
end $$;

-- Graphs: HNSW indexes of the extension "vector" over the sign bits of large generations, one index for each generation.
-- Where the extension is not installed, none of it does anything.

-- The schema of an extension that the platform can use; null without one. Versions before 0.8 end a search when
-- conditions have left too few of the first rows.
create or replace function app.vector_extension_schema() returns text
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select n.nspname::text from pg_extension e join pg_namespace n on n.oid = e.extnamespace
  where e.extname = 'vector' and string_to_array(substring(e.extversion from '^\d+\.\d+'), '.')::integer[] >= '{0,8}'
    and has_schema_privilege('app_owner', n.oid, 'usage') and has_schema_privilege('app_rt', n.oid, 'usage')
$$;

create or replace function app.vector_graph_name(p_embedding uuid, p_graph integer) returns text
language sql immutable strict as $$
  select 'vector_graph_' || replace(p_embedding::text, '-', '') || '_' || p_graph
$$;

-- Whether a generation has the graph of that number.
create or replace function app.has_vector_graph(p_embedding uuid, p_graph integer) returns boolean
language sql stable set search_path = pg_catalog, public, pg_temp as $$
  select exists (
    select from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = 'public.chunk_vectors'::regclass and c.relname = app.vector_graph_name(p_embedding, p_graph))
$$;

-- New vectors join the graph of their generation. It is read here and not given with the row: the transaction that begins
-- a graph locks out inserts, and this statement sees what that has committed.
create or replace function app.join_vector_graph() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  new.graph := coalesce((select g.graph from embedding_generations g
    where g.tenant_id = new.tenant_id and g.id = new.embedding_id), 0);
  return new;
end $$;

-- Makes a graph that no vector is in yet. The table is read once for it, and cannot be written meanwhile.
create or replace function app.add_vector_graph(p_embedding uuid, p_graph integer, p_dims integer) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp
  set lock_timeout = '1s' set max_parallel_maintenance_workers = 0 as $$
begin
  execute format(
    'create index %I on public.chunk_vectors using hnsw ((bits::bit(%s)) %I.bit_hamming_ops)
     where embedding_id = %L and graph = %s',
    app.vector_graph_name(p_embedding, p_graph), p_dims, app.vector_extension_schema(), p_embedding, p_graph);
end $$;

-- Graphs that no search uses: of generations that are over or deleted, and those that another has replaced.
create or replace function app.list_unused_vector_graphs() returns setof text
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select c.relname::text from pg_index i join pg_class c on c.oid = i.indexrelid
  where i.indrelid = 'public.chunk_vectors'::regclass and c.relname ~ '^vector_graph_[0-9a-f]{32}_\d+$'
    and not exists (
      select from public.embedding_generations g
      where g.id = substring(c.relname from 14 for 32)::uuid and g.state in ('active', 'building')
        and c.relname = app.vector_graph_name(g.id, g.graph))
  order by 1
$$;

create or replace function app.drop_vector_graph(p_name text) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if p_name ~ '^vector_graph_[0-9a-f]{32}_\d+$' then
    execute format('drop index if exists public.%I', p_name);
  end if;
end $$;

-- Candidates of the transaction's tenant in a graph, nearest by their signs first; none where the graph is not there. A
-- scan goes on until enough of the candidates are in the collections, or four times as many vectors were looked at.
create or replace function app.nearest_in_vector_graph(
  p_embedding uuid, p_graph integer, p_collections uuid[], p_signs bit varying, p_limit integer)
returns table (document_id uuid, generation integer, "position" integer, bits bit varying)
language plpgsql stable set search_path = pg_catalog, public, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
declare
  tenant constant uuid := nullif(current_setting('app.tenant_id', true), '')::uuid;
  extension constant text := app.vector_extension_schema();
begin
  if extension is null or not app.has_vector_graph(p_embedding, p_graph) then
    return;
  end if;
  perform set_config('hnsw.ef_search', least(p_limit, 1000)::text, true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.scan_mem_multiplier', '8', true),
    set_config('hnsw.max_scan_tuples', (4 * p_limit)::text, true);
  return query execute format(
    'select v.document_id, v.generation, v.position, v.bits from public.chunk_vectors v
     where v.tenant_id = %1$L and v.embedding_id = %2$L and v.graph = %3$s and v.collection_id = any($1)
     order by v.bits::bit(%4$s) operator(%5$I.<~>) $2::bit(%4$s) limit $3',
    tenant, p_embedding, p_graph, length(p_signs), extension)
  using p_collections, p_signs, p_limit;
exception
  -- The extension has just been dropped.
  when undefined_function or undefined_object then return;
end $$;

-- Spaces with documents that lack vectors, with a generation under construction, or so large that their vectors are to
-- be divided into lists (`partition-generation.ts` has the same number) and, where the extension for it is installed, to
-- be in a graph (`graph-generation.ts` has the same conditions).
create or replace function app.list_unembedded_spaces(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, space_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select s.tenant_id, s.space_id from (
    select c.tenant_id, c.space_id
    from public.documents d join public.collections c on c.tenant_id = d.tenant_id and c.id = d.collection_id
    where d.embedding_pending and d.status = 'ready' and c.deleted_at is null
    union
    select g.tenant_id, g.space_id from public.embedding_generations g where g.state = 'building'
    union
    select g.tenant_id, g.space_id from public.embedding_generations g
    where g.state = 'active' and g.partitioned_at is null and 300000 <= (
      select sum(c.chunk_count) from public.collections c where c.tenant_id = g.tenant_id and c.space_id = g.space_id)
    union
    select g.tenant_id, g.space_id from public.embedding_generations g
    where app.vector_extension_schema() is not null and g.state = 'active' and g.partitioned_at is not null
      and (g.graphed_at is null or not app.has_vector_graph(g.id, g.graph))
      and (g.graph_retry_at is null or g.graph_retry_at < now()) and 300000 <= (
        select sum(c.chunk_count) from public.collections c where c.tenant_id = g.tenant_id and c.space_id = g.space_id)) s
  where (s.tenant_id, s.space_id) > (p_after_tenant, p_after_id)
  order by s.tenant_id, s.space_id limit p_limit
$$;

-- Generations whose vectors are deleted next: searches that began with them are over.
create or replace function app.list_ended_generations(p_after_tenant uuid, p_after_id uuid, p_limit integer)
returns table (tenant_id uuid, embedding_id uuid)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select g.tenant_id, g.id from public.embedding_generations g
  where g.state in ('retired', 'cancelled') and g.ended_at < now() - interval '1 minute'
    and (g.tenant_id, g.id) > (p_after_tenant, p_after_id)
  order by g.tenant_id, g.id limit p_limit
$$;

select pg_temp.secure_function('app.vector_extension_schema()', 'app_owner', '{app_rt,app_purge,app_system}'),
  pg_temp.secure_function('app.vector_graph_name(uuid, integer)', 'app_owner', '{app_rt,app_purge,app_system}'),
  pg_temp.secure_function('app.has_vector_graph(uuid, integer)', 'app_owner', '{app_rt,app_purge,app_system}'),
  -- They change indexes, as the owner of the table.
  pg_temp.secure_function('app.add_vector_graph(uuid, integer, integer)', 'app_owner', '{app_rt}'),
  pg_temp.secure_function('app.drop_vector_graph(text)', 'app_owner', '{app_purge}');
