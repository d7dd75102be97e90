-- The tenant's requests over all gateways: a bucket that fills with time, from which gateways take blocks. Unlogged,
-- because after a crash a full bucket does no harm.
create unlogged table rate_buckets (
  tenant_id uuid primary key references tenants,
  tokens double precision not null,
  filled_at timestamptz not null
);
