-- Retention hides what is older than retained_from at once and deletes it in batches; what is older than cleared_to is
-- gone.
alter table event_chains add column cleared_to timestamptz not null default '-infinity';
grant select (cleared_to) on event_chains to app_system;
create index event_resource_counts_age on event_resource_counts (tenant_id, starts_at);
-- of batches that have their content
create index event_seals_content on event_seals (tenant_id, month, seq) where event_ids is not null;
