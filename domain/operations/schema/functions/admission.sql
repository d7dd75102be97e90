-- Admission of new responses.

-- What admits a new response: its space, the model by its alias or the space's default, and whether the space may use
-- the model.
create or replace function app.read_admission(p_tenant uuid, p_space uuid, p_alias text)
returns table (space json, model json, allowed boolean) language plpgsql stable as $$
declare
  s spaces;
  m models;
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  select * into s from spaces where tenant_id = p_tenant and id = p_space;
  if not found then
    return;
  end if;
  space := to_json(s);
  if p_alias is null then
    select * into m from models where tenant_id = p_tenant and id = s.default_model_id;
  else
    select * into m from models where tenant_id = p_tenant and alias = p_alias;
  end if;
  if found then
    model := to_json(m);
    allowed := exists (select from space_models a
      where a.tenant_id = p_tenant and a.space_id = p_space and a.model_id = m.id);
  end if;
  return next;
end $$;

-- Number of running responses of a tenant, or of one of its spaces. Until the transaction ends, concurrent counts
-- cannot pass the limit together with this one. Far below the limit they run in parallel under a shared lock, since
-- the server has too few connections to reach it; near the limit an exclusive lock serialises them.
create or replace function app.count_active(p_tenant uuid, p_space uuid, p_limit integer) returns integer language plpgsql as $$
declare
  place constant bigint := hashtextextended('active/' || p_tenant || '/' || coalesce(p_space::text, ''), 0);
  most_at_once constant integer := current_setting('max_connections')::integer;
  active integer;
begin
  if p_limit > most_at_once then
    begin
      perform pg_advisory_xact_lock_shared(place);
      active := app.count_running(p_tenant, p_space);
      if active < p_limit - most_at_once then
        return active;
      end if;
      -- Releases the shared lock, on which concurrent counts would block each other's exclusive lock.
      raise exception using errcode = 'LM001';
    exception when sqlstate 'LM001' then
      null;
    end;
  end if;
  perform pg_advisory_xact_lock(place);
  return app.count_running(p_tenant, p_space);
end $$;

-- Not stable: it counts what is committed when it is called, instead of using its caller's snapshot.
create or replace function app.count_running(p_tenant uuid, p_space uuid) returns integer language plpgsql as $$
begin
  return (select count(*) from responses r
    where r.tenant_id = p_tenant and r.finished_at is null and (p_space is null or r.space_id = p_space));
end $$;
