-- An answer counts in the run of its listing, and in no later one. In no index, so that it is written in place.
alter table source_documents add column asked_listing integer, add column was_there boolean;
