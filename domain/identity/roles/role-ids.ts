import { v5 } from 'uuid';
import type { EntityManager } from '@mikro-orm/postgresql';
import { Role } from './role.entity.ts';
import { builtInRoles } from '#domain/foundation/access/roles.ts';

/** Must never change: the ids of the built-in roles derive from it. */
const namespace = '6f2f0a52-7a0b-4b0e-9a39-0d6b6f3c1e57';

/** A built-in role's id: the same in every tenant and every deployment. */
export function builtInRoleId(key: string): string {
  return v5(key, namespace);
}

const builtInKeys = new Map(Object.keys(builtInRoles).map((key) => [builtInRoleId(key), key]));

export function isBuiltIn(key: string): boolean {
  return Object.hasOwn(builtInRoles, key);
}

/** The key of the built-in role with that id, if there is one. */
export function builtInKey(roleId: string): string | undefined {
  return builtInKeys.get(roleId);
}

/** The ids of roles by their keys. Rows store keys, the API shows ids. */
export async function roleIds(em: EntityManager, keys: readonly string[]): Promise<(key: string) => string> {
  const idOf = await knownRoleIds(em, keys);
  return (key) => {
    const id = idOf(key);
    if (id === null) {
      throw new Error('A role that is held has no row.');
    }
    return id;
  };
}

/** Like `roleIds` for roles that may have been deleted: null then. */
export async function knownRoleIds(
  em: EntityManager,
  keys: readonly string[],
): Promise<(key: string) => string | null> {
  const custom = keys.filter((key) => !isBuiltIn(key));
  const rows = custom.length === 0 ? [] : await em.find(Role, { key: { $in: custom } });
  const ids = new Map(rows.map(({ key, id }) => [key, id]));
  return (key) => (isBuiltIn(key) ? builtInRoleId(key) : (ids.get(key) ?? null));
}
