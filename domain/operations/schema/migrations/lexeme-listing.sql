-- What app.list_unmeasured_collections compares.
grant select (chunk_count, lexeme_chunks) on collections to app_system;
