-- Equal content is found by its hash alone. The index with the purpose does not serve that: under row-level security
-- `split_part` is no condition of an index, as it may reveal its arguments.
create index stored_objects_content on stored_objects (tenant_id, sha256);
