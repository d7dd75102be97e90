-- How many texts an entry is of. Null in entries of the version before, whose queries are of one text each.
alter table embedding_usage add column texts integer check (texts > 0);
-- Not validated: the constraint before allowed less.
alter table embedding_usage drop constraint embedding_usage_purpose_check,
  add constraint embedding_usage_purpose_check check (purpose in ('passages', 'query', 'calibration')) not valid;
