
-- Everything that decides what a principal may do in a tenant and, when given, in one of its spaces.
create or replace function app.read_access(p_tenant uuid, p_principal uuid, p_space uuid) returns jsonb
language plpgsql stable as $$
begin
  perform set_config('app.tenant_id', p_tenant::text, true);
  return (
    select jsonb_build_object(
      'tenant_status', t.status,
      'is_platform', t.is_platform,
      'principal_status', p.status,
      'principal_type', p.type,
      'space_found', exists (select from spaces s where s.tenant_id = p_tenant and s.id = p_space),
      'tenant_roles', to_jsonb(held.tenant_roles),
      'space_role', held.space_role,
      -- Only roles that the principal holds: a tenant may have defined hundreds.
      'custom_roles', (select coalesce(jsonb_object_agg(r.key, to_jsonb(r.permissions)), '{}') from roles r
                       where r.tenant_id = p_tenant and r.key = any (held.tenant_roles || held.space_role)))
    from tenants t join principals p on p.tenant_id = t.tenant_id and p.id = p_principal
    -- `offset 0` keeps the planner from looking both lists up at each of their uses.
    cross join lateral (
      select array(select a.role_key from role_assignments a
                   where a.tenant_id = p_tenant and a.principal_id = p_principal) as tenant_roles,
             (select m.role_key from space_members m
              where m.tenant_id = p_tenant and m.space_id = p_space and m.principal_id = p_principal) as space_role
      offset 0) held
    where t.tenant_id = p_tenant);
end $$;
