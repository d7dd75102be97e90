alter table erasures drop constraint erasures_root_type_check;
alter table erasures add constraint erasures_root_type_check
  check (root_type in ('collection', 'space', 'project', 'principal'));

-- A deleted project is out of sight of the runtime role, as a deleted space is, and so are its members: their roles in
-- it end with the deletion.
alter table projects add column deleted_at timestamptz;
alter policy runtime on projects using (
  tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid and coalesce(deleted_at, now()) = now());
alter policy runtime on project_members using (
  tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid and exists (
    select from projects p where p.tenant_id = project_members.tenant_id and p.id = project_members.project_id));

-- What is hidden for the erasure of a person is left to it by the purges.
grant select (created_by) on threads to app_system;
grant select (principal_id) on responses to app_system;
