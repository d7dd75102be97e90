import type { Client } from 'pg';
import { permissions, platformOnly, type Permission } from '#domain/foundation/access/permissions.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';

/** The permissions that a tenant can give. */
export const everything = permissions.filter((permission) => !platformOnly.has(permission));

/** Stores a role of a tenant's own without the checks of the use case. */
export async function addCustomRole(
  admin: Client,
  tenantId: string,
  names: readonly Permission[],
): Promise<{ id: string; key: string }> {
  const role = { id: newId(), key: `role_${newId().slice(-12)}` };
  await admin.query('insert into roles (tenant_id, id, key, name, permissions) values ($1, $2, $3, $3, $4)', [
    tenantId,
    role.id,
    role.key,
    [...names],
  ]);
  return role;
}
