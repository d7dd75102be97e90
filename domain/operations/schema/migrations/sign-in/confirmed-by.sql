-- The principal that chose or repeated the settings last: it must hold what new users get. Null: by the operator, or before
-- this column, and then nothing is asked of anybody.
alter table identity_providers add column confirmed_by uuid;
alter table identity_providers add foreign key (tenant_id, confirmed_by) references principals;
create index on identity_providers (tenant_id, confirmed_by);
