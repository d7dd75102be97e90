-- What a new response is admitted by.

-- What a new response is settled by: its space, the model by its alias or as the space's default, whether the space
-- may use it.
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

-- How many responses of a tenant, or of one of its spaces, are running; exact until the transaction ends as far as the
-- limit goes: others that count at the same time cannot pass it together with this one. Far below it they count side by
-- side, since the server has too few connections to reach it; near it they take turns.
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
      -- takes the shared lock back, which would stand in the way of everybody who does the same
      raise exception using errcode = 'LM001';
    exception when sqlstate 'LM001' then
      null;
    end;
  end if;
  perform pg_advisory_xact_lock(place);
  return app.count_running(p_tenant, p_space);
end $$;

-- By what has been committed when it is called: not stable, so that it does not see the snapshot of its caller.
create or replace function app.count_running(p_tenant uuid, p_space uuid) returns integer language plpgsql as $$
begin
  return (select count(*) from responses r
    where r.tenant_id = p_tenant and r.finished_at is null and (p_space is null or r.space_id = p_space));
end $$;
