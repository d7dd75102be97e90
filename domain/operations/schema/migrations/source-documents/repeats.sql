-- A document that could not be fetched is fetched again by itself, while the listing goes on from its checkpoint.
alter table source_documents
  add column failures smallint not null default 0,
  -- what its listing said need not be said again: new documents with readers have to be listed once more
  add column can_repeat boolean not null default false;
-- Without a column that marks of each listing change: they are written in place.
create index source_documents_failed on source_documents (tenant_id, connector_id, ref) where state = 'failed';
