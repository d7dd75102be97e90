-- What app.rank_readable_passages reads to leave out documents that the asker may not read at their source.
grant select (source_readers) on documents to app_system;
