-- Events of a type that a caller can cause at will share a fan-out: while one with a key waits, no other begins.
alter table fan_outs add coalescing_key text;
create unique index fan_outs_coalescing on fan_outs (tenant_id, coalescing_key);

-- The event whose fan-out claimed the period, so that its repeat after a crash finds the claim its own. Null: a process
-- of the version before claimed it when the event was recorded.
alter table notified_periods add event_id uuid;
