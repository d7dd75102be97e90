import type { EntityManager } from '@mikro-orm/postgresql';
import { own } from '#domain/foundation/kernel/own.ts';
import { Role } from './role.entity.ts';
import { builtInRoles } from '#domain/foundation/access/roles.ts';

/** The permissions of a role that a principal holds, by the key that rows store. */
export async function permissionsOf(em: EntityManager, roleKey: string): Promise<readonly string[]> {
  return own(builtInRoles, roleKey) ?? (await em.findOne(Role, { key: roleKey }))?.permissions ?? [];
}
