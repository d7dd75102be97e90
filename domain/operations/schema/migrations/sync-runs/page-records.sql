-- Documents that were brought by the page whose end is not stored.
alter table sync_runs add column page_records integer not null default 0;
