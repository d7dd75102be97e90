-- Ended invites are deleted in the order of their age.
create index invites_expiry on invites (expires_at);
