import { DomainError, notFound } from '#domain/kernel/errors.ts';
import type { Caller, Identity, Origin } from './caller.ts';
import { implied, permissions, platformOnly, type Permission } from './permissions.ts';
import { builtInRoles } from './roles.ts';

/** What the database says of a principal, tenant and space (`app.read_access`). */
export interface AccessRecord {
  tenant_status: string;
  is_platform: boolean;
  principal_status: string;
  principal_type: Caller['principalType'];
  space_found: boolean;
  tenant_roles: string[];
  space_role: string | null;
  custom_roles: Record<string, string[]>;
}

const known = new Set<string>(permissions);

/**
 * Effective set = tenant roles and space role with all they imply, cut down to the key's own grant.
 * @throws `tenant_suspended`, `tenant_deleting`, `principal_disabled`, and `space_not_found` for a space of
 *   another tenant.
 */
export function admit(
  identity: Identity,
  origin: Origin,
  access: AccessRecord,
  spaceId: string | null,
): Caller {
  if (access.tenant_status === 'suspended') {
    throw new DomainError('tenant_suspended', 'This tenant is suspended.');
  }
  if (access.tenant_status !== 'active') {
    throw new DomainError('tenant_deleting', 'This tenant is being deleted.');
  }
  if (access.principal_status !== 'active') {
    throw new DomainError('principal_disabled', 'This principal is disabled.');
  }
  if (spaceId !== null && !access.space_found) {
    throw notFound('space_not_found');
  }
  const roleKeys =
    access.space_role === null ? access.tenant_roles : [...access.tenant_roles, access.space_role];
  const held = expand(
    roleKeys.flatMap((key): readonly string[] => builtInRoles[key] ?? access.custom_roles[key] ?? []),
  );
  const allowed = identity.keyPermissions === null ? held : intersect(held, expand(identity.keyPermissions));
  if (!access.is_platform) {
    for (const permission of platformOnly) {
      allowed.delete(permission);
    }
  }
  const { principal_type: principalType, is_platform: isPlatform } = access;
  return { ...identity, origin, principalType, isPlatform, spaceId, granted: allowed };
}

/** @throws `missing_permission` naming the permission that is missing. */
export function authorize(caller: Caller, permission: Permission): void {
  if (!caller.granted.has(permission)) {
    throw refusal(caller, [permission], permission);
  }
}

export function refusal(caller: Caller, required: Permission[], missing: Permission): DomainError {
  const where = caller.spaceId === null ? 'tenant' : 'space';
  return new DomainError('missing_permission', `Missing permission ${missing} in this ${where}.`, {
    missingPermission: missing,
    requiredPermissions: required,
    scope: { type: where, id: caller.spaceId ?? caller.tenantId },
  });
}

/** The permissions among `names` with all that they imply. */
export function expand(names: readonly string[]): Set<Permission> {
  return new Set(names.filter((name): name is Permission => known.has(name)).flatMap(implied));
}

function intersect(a: Set<Permission>, b: Set<Permission>): Set<Permission> {
  return new Set([...a].filter((permission) => b.has(permission)));
}
