-- Where the extension "vector" is installed, vectors of a large generation are also in a graph: an HNSW index of its own.
alter table embedding_generations
  -- number of the graph that vectors join; 0: none was begun
  add column graph smallint not null default 0,
  -- when each vector that was there had joined it
  add column graphed_at timestamptz,
  -- after an attempt that was in the way of others
  add column graph_retry_at timestamptz;
-- The graph that the vector is in. An index of rows with a number that no row has yet is made in an instant, and its rows
-- join it one by one.
alter table chunk_vectors add column graph smallint not null default 0;
grant update (graph) on chunk_vectors to app_rt;

-- The body of the trigger's function stands in ../../functions/.
create function app.join_vector_graph() returns trigger language plpgsql as 'begin return new; end';
create trigger join_vector_graph before insert on chunk_vectors
  for each row execute function app.join_vector_graph();

-- What the sweeps look for.
grant select (graph, graphed_at, graph_retry_at) on embedding_generations to app_system;
