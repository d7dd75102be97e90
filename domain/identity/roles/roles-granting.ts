import type { EntityManager } from '@mikro-orm/postgresql';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { expand } from '#domain/foundation/access/policy.ts';
import { isBuiltIn } from './role-ids.ts';
import { Role } from './role.entity.ts';
import { builtInRoles } from '#domain/foundation/access/roles.ts';

/** Keys of the tenant's roles, its own ones included, that hold `permission` or imply it. */
export async function rolesGranting(em: EntityManager, permission: Permission): Promise<string[]> {
  const custom = (await em.find(Role, {})).filter(({ key }) => !isBuiltIn(key));
  return [...Object.entries(builtInRoles).map(([key, permissions]) => ({ key, permissions })), ...custom]
    .filter(({ permissions }) => expand(permissions).has(permission))
    .map(({ key }) => key);
}
