-- Bytes in the database: an object is a row here, its content lies in parts. It is written part by part; until all are
-- there it has no hash. `purge_after` says from when on the purge may look whether anything still refers to it.
create table stored_objects (
  tenant_id uuid not null references tenants,
  -- <purpose>/<id>
  key text not null,
  sha256 text,
  byte_size bigint,
  purge_after timestamptz,
  primary key (tenant_id, key),
  check ((sha256 is null) = (byte_size is null))
);
-- Equal bytes of one tenant and purpose are one object.
create unique index stored_objects_sha256 on stored_objects (tenant_id, split_part(key, '/', 1), sha256) where sha256 is not null;
create index stored_objects_purge on stored_objects (tenant_id, key) where purge_after is not null;

create table stored_parts (
  tenant_id uuid not null references tenants,
  key text not null,
  position integer not null,
  bytes bytea not null check (octet_length(bytes) between 1 and 262144),
  primary key (tenant_id, key, position),
  foreign key (tenant_id, key) references stored_objects on delete cascade
);

-- A document's content moves there. Passages get the generation of the reading that they come from.
alter table documents
  add column content_key text,
  add column generation integer not null default 0,
  add column stale_since timestamptz;
insert into stored_objects (tenant_id, key, sha256, byte_size)
select distinct on (d.tenant_id, h.sha256) d.tenant_id, 'documents/' || d.id, h.sha256, octet_length(convert_to(d.content, 'UTF8'))
from documents d cross join lateral (select encode(sha256(convert_to(d.content, 'UTF8')), 'hex') as sha256) h
order by d.tenant_id, h.sha256, d.id;
insert into stored_parts (tenant_id, key, position, bytes)
select o.tenant_id, o.key, n, substring(convert_to(d.content, 'UTF8') from n * 262144 + 1 for 262144)
from stored_objects o join documents d on d.tenant_id = o.tenant_id and 'documents/' || d.id = o.key
cross join lateral generate_series(0, ((o.byte_size - 1) / 262144)::integer) as n;
update documents d set content_key = o.key, generation = (d.chunk_count > 0)::integer
from stored_objects o
where o.tenant_id = d.tenant_id and o.sha256 = encode(sha256(convert_to(d.content, 'UTF8')), 'hex');
alter table documents
  alter column content_key set not null,
  drop column content,
  add foreign key (tenant_id, content_key) references stored_objects;
create index on documents (tenant_id, content_key);
create index documents_stale on documents (tenant_id, id) where stale_since is not null;

alter table chunks add column generation integer not null default 1;
alter table chunks drop constraint chunks_pkey, add primary key (tenant_id, document_id, generation, position);

-- How many passages a collection has, so that a search need not count them.
alter table collections add column chunk_count bigint not null default 0;
update collections c set chunk_count = d.n
from (select tenant_id, collection_id, sum(chunk_count) as n from documents group by 1, 2) d
where d.tenant_id = c.tenant_id and d.collection_id = c.id;

-- The bodies of trigger functions stand in ../functions/.
create function app.count_chunks() returns trigger language plpgsql as 'begin return null; end';
create trigger count_chunks_of_new after insert on documents referencing new table as added
  for each statement execute function app.count_chunks();
create trigger count_chunks after update on documents referencing old table as removed new table as added
  for each statement execute function app.count_chunks();
create trigger count_chunks_of_deleted after delete on documents referencing old table as removed
  for each statement execute function app.count_chunks();

create function app.release_content() returns trigger language plpgsql as 'begin return null; end';
create trigger release_content after delete on documents referencing old table as removed
  for each statement execute function app.release_content();

select pg_temp.secure_tenant_table('stored_objects'), pg_temp.secure_tenant_table('stored_parts');
revoke update on stored_parts from app_rt, app_purge;
-- Documents that go with their collection are deleted as the owner, and so are the triggers run.
create policy cascade on stored_objects to app_owner
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- What the sweeps look for, in the order of its keys: ids only.
select pg_temp.show_to_system('stored_objects', 'tenant_id, key, purge_after');
grant select (stale_since) on documents to app_system;
