-- When the holder of the token had the certificate first.
alter table app.tenant_deletions add column certificate_read_at timestamptz;
