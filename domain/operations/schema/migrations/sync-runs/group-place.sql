-- Cursor of the page of groups to read next; null: the first one, or all were read.
alter table sync_runs add column group_position text, add column group_pages integer not null default 0;
