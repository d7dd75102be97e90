-- Retention hides what is older than retained_from at once and deletes it in batches; what is older than cleared_to is
-- gone. Readers of events go on while the indexes are built; sealing, which changes both tables, waits before it begins.
lock table event_chains in share row exclusive mode;
create index event_resource_counts_age on event_resource_counts (tenant_id, starts_at);
-- of batches that have their content
create index event_seals_content on event_seals (tenant_id, month, seq) where event_ids is not null;
alter table event_chains add column cleared_to timestamptz not null default '-infinity';
grant select (cleared_to) on event_chains to app_system;
-- Earlier versions have deleted in the transaction that hid.
update event_chains set cleared_to = retained_from;
