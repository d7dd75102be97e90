-- When each sweep was last due and when it last succeeded. Of no tenant: names and times only.
create table app.sweeps (
  name text primary key,
  taken_at timestamptz not null default '-infinity',
  succeeded_at timestamptz not null default now()
);
alter table app.sweeps owner to app_owner;
grant select, insert, update on app.sweeps to app_rt;
