create index outbox_groups on outbox (tenant_id, kind, workflow_type, id);
