import type { EntityManager } from '@mikro-orm/postgresql';
import type { Permission } from './permissions.ts';
import { expand } from './policy.ts';
import { Role } from './role.entity.ts';
import { builtInRoles } from './roles.ts';

/** Keys of the tenant's roles, its own ones included, that hold `permission` or imply it. */
export async function rolesGranting(em: EntityManager, permission: Permission): Promise<string[]> {
  const own = (await em.find(Role, {})).filter(({ key }) => !(key in builtInRoles));
  return [...Object.entries(builtInRoles).map(([key, permissions]) => ({ key, permissions })), ...own]
    .filter(({ permissions }) => expand(permissions).has(permission))
    .map(({ key }) => key);
}
