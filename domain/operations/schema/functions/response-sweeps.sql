-- Responses of all tenants that a sweep processes.

-- Responses whose content may be purged, by keyset in the order of their due time: ended and expired, or deleted long
-- enough ago for attached readers to receive their end. Hidden ones of a person that is being erased go with the person.
create or replace function app.list_expired(p_after timestamptz, p_after_id text, p_limit integer)
returns table (tenant_id uuid, response_id text, due text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select d.tenant_id, d.id, to_char(d.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') from (
    (select r.tenant_id, r.id, r.expires_at as at from public.responses r
      where r.expires_at <= now() and r.finished_at is not null and (r.expires_at, r.id) > (p_after, p_after_id)
      order by r.expires_at, r.id limit p_limit)
    union all
    (select r.tenant_id, r.id, r.deleted_at from public.responses r
      where r.deleted_at < now() - interval '15 seconds' and not (r.expires_at <= now() and r.finished_at is not null)
        and (r.deleted_at, r.id) > (p_after, p_after_id)
        and not exists (select from public.erasures e where e.tenant_id = r.tenant_id and e.root_type = 'principal'
          and e.root_id = r.principal_id and e.ended_at is null)
      order by r.deleted_at, r.id limit p_limit)) d
  order by d.at, d.id limit p_limit
$$;

-- Non-terminal responses old enough that their workflow must exist, by keyset. A blocked response has no workflow
-- yet, unless the response that blocks it has ended or is gone.
create or replace function app.list_stale(p_after_created timestamptz, p_after_id text, p_limit integer)
returns table (tenant_id uuid, response_id text, status text, created_at text, queued_since timestamptz, deadline_at timestamptz, expired boolean, waits boolean, stranded boolean, listed_at timestamptz)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select r.tenant_id, r.id, r.status, to_char(r.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), r.queued_since, r.deadline_at, r.expires_at <= now(), r.waits_for is not null,
    r.waits_for is not null and p.id is null, now()
  from public.responses r left join public.responses p on p.tenant_id = r.tenant_id and p.id = r.waits_for and p.finished_at is null
  where r.finished_at is null and r.created_at < now() - interval '15 seconds'
    and (r.created_at, r.id) > (p_after_created, p_after_id)
  order by r.created_at, r.id limit p_limit
$$;

-- Ended responses with a call that was started and never settled, although no attempt at it can still run: an attempt
-- begins before the end and lasts at most ten minutes. The purge handles expired and deleted responses.
create or replace function app.list_lost_calls(p_after_tenant uuid, p_after_id text, p_limit integer)
returns table (tenant_id uuid, response_id text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select r.tenant_id, r.id from public.responses r
  where (r.tenant_id, r.id) in (select c.tenant_id, c.response_id from public.tool_calls c where c.status = 'started')
    and r.finished_at < now() - interval '12 minutes' and r.expires_at > now() and r.deleted_at is null
    and (r.tenant_id, r.id) > (p_after_tenant, p_after_id)
  order by r.tenant_id, r.id limit p_limit
$$;
