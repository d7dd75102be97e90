-- Each run marks the documents that it sees. Without the mark in an index, and with room for a second version of each row
-- in its page, a mark touches no index.
create index on source_documents (tenant_id, connector_id, id);
drop index source_documents_seen;
alter table source_documents set (fillfactor = 50);
