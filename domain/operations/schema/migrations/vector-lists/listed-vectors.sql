-- A search of a large generation reads the vectors of some lists. In the table they lie in the order in which they were
-- stored, one or two of them in a page; here those of a list lie together, with all that the search compares.
create index chunk_vectors_listed on chunk_vectors (tenant_id, embedding_id, list)
  include (collection_id, document_id, generation, position, bits) where list > 0;
-- The index is read alone where a vacuum has seen the pages of the table: it is to follow the division of one space among
-- many.
alter table chunk_vectors set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
