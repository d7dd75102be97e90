-- A deleted space is out of sight of the runtime role, as a deleted collection is.
alter table spaces add column deleted_at timestamptz;
alter policy runtime on spaces using (
  tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid and coalesce(deleted_at, now()) = now());
