/** The closed permission catalogue, `resource.action`. Append-only once released. */
const tenantPermissions = [
  'tenants.read',
  'tenants.update',
  'tenants.delete',
  'roles.read',
  'roles.create',
  'roles.update',
  'roles.delete',
  'roles.assign',
  'principals.read',
  'principals.create',
  'principals.update',
  'principals.delete',
  'api_keys.read',
  'api_keys.create',
  'api_keys.revoke',
  'identity_providers.read',
  'identity_providers.manage',
  'sessions.read',
  'sessions.revoke',
  'models.read',
  'models.manage',
  'skills.read',
  'skills.create',
  'skills.update',
  'skills.publish',
  'skills.deprecate',
  'skills.delete',
  'spaces.create',
  'events.read',
  'events.export',
  'notifications.read',
  'notifications.manage',
  'usage.read',
  'limits.manage',
  'workflows.read',
] as const;

/** Held only by principals of the reserved platform tenant. */
const platformPermissions = ['tenants.create', 'tenants.suspend', 'prices.manage'] as const;

const spacePermissions = [
  'spaces.read',
  'spaces.update',
  'spaces.delete',
  'spaces.manage_models',
  'members.read',
  'members.add',
  'members.remove',
  'invites.read',
  'invites.create',
  'invites.revoke',
  'projects.read',
  'projects.create',
  'projects.update',
  'projects.delete',
  'project_members.read',
  'project_members.add',
  'project_members.update',
  'project_members.remove',
  'collections.read',
  'collections.create',
  'collections.update',
  'collections.delete',
  'documents.read',
  'documents.write',
  'documents.delete',
  'knowledge.search',
  'connectors.read',
  'connectors.create',
  'connectors.update',
  'connectors.delete',
  'connectors.sync',
  'mcp_servers.read',
  'mcp_servers.create',
  'mcp_servers.update',
  'mcp_servers.delete',
  'mcp_servers.connect',
  'tools.execute',
  'responses.create',
  'responses.read',
  'responses.cancel',
  'responses.delete',
  'threads.read',
  'threads.create',
  'threads.update',
  'threads.delete',
  'threads.read_pii',
  'messages.create',
  'messages.read',
  'observability.read',
  'observability.update',
  'governance.read',
  'governance.update',
  'credentials.read',
  'credentials.manage',
] as const;

export const permissions = [...tenantPermissions, ...platformPermissions, ...spacePermissions] as const;

export type Permission = (typeof permissions)[number];

export const spaceScoped: ReadonlySet<Permission> = new Set(spacePermissions);
export const platformOnly: ReadonlySet<Permission> = new Set(platformPermissions);

/** What an operator of the platform may do in another tenant: nothing that shows or changes content. */
export const crossTenantPermissions: ReadonlySet<Permission> = new Set([
  ...platformPermissions,
  'tenants.read',
  'tenants.update',
  'tenants.delete',
  'models.read',
  'workflows.read',
]);

const readable = new Set<string>(permissions.filter((permission) => permission.endsWith('.read')));

/** The permissions that `permission` implies, itself included. Computed when the process starts, never stored. */
export function implied(permission: Permission): readonly Permission[] {
  return allImplied.get(permission) ?? [permission];
}

function findImplied(permission: Permission): Permission[] {
  switch (permission) {
    case 'responses.create':
      return [permission, 'knowledge.search', 'tools.execute'];
    case 'messages.create':
      return [permission, 'threads.read', 'messages.read'];
    case 'knowledge.search':
    case 'tools.execute':
      return [permission];
    default: {
      const read = `${permission.split('.')[0]}.read`;
      return readable.has(read) && read !== permission ? [permission, read as Permission] : [permission];
    }
  }
}

/** Cached, because every request looks up every permission of its caller's roles. */
const allImplied = new Map(permissions.map((permission) => [permission, findImplied(permission)]));
