-- The vectors of a large generation are divided into lists, of which a search reads those nearest to its question.
alter table embedding_generations
  -- int8 for each component, one centroid after the other; null: the generation has no lists
  add column centroids bytea,
  add column list_count smallint not null default 0,
  -- when each vector that was there had its list
  add column partitioned_at timestamptz;
alter table embedding_generations alter column centroids set storage external;
-- 0: none yet, so that every search reads the vector. Processes of the version before store no other.
alter table chunk_vectors add column list smallint not null default 0;
create index chunk_vectors_list on chunk_vectors (tenant_id, embedding_id, list);
grant update (list) on chunk_vectors to app_rt;

-- What the sweep looks for: large spaces without lists.
grant select (partitioned_at) on embedding_generations to app_system;
grant select (chunk_count) on collections to app_system;
