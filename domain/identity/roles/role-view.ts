import { own } from '#domain/foundation/kernel/own.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { builtInRoleId } from './role-ids.ts';
import type { Role } from './role.entity.ts';
import { builtInRoles } from '#domain/foundation/access/roles.ts';

/** Where a role can be granted. */
export type RoleScope = 'tenant' | 'space' | 'project';

/** A role in API form, built-in or a tenant's own. */
export interface RoleView {
  id: string;
  key: string;
  name: string;
  description: string | null;
  permissions: readonly Permission[];
  builtIn: boolean;
  /** null: any; it then applies to the tenant, the space or the project in which it was granted. */
  scope: RoleScope | null;
  createdAt: Date | null;
}

export function viewRole(role: Role): RoleView {
  return {
    id: role.id,
    key: role.key,
    name: role.name,
    description: role.description ?? null,
    permissions: role.permissions as Permission[],
    builtIn: false,
    scope: null,
    createdAt: role.createdAt,
  };
}

export function viewBuiltIn(key: string): RoleView {
  return {
    id: builtInRoleId(key),
    key,
    name: key.replaceAll('_', ' '),
    description: null,
    permissions: own(builtInRoles, key) ?? [],
    builtIn: true,
    scope: key.startsWith('space_') ? 'space' : key.startsWith('project_') ? 'project' : 'tenant',
    createdAt: null,
  };
}
