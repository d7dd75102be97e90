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
