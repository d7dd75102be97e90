import { LRUCache } from 'lru-cache';
import { DomainError, notFound } from '#domain/foundation/kernel/errors.ts';
import { own } from '#domain/foundation/kernel/own.ts';
import type { Caller, Identity, Origin } from './caller.ts';
import { implied, permissions, platformOnly, type Permission } from './permissions.ts';
import { builtInRoles } from './roles.ts';

/** The database's record of a principal, tenant and space (`app.read_access`). */
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

/** The space that a caller is admitted to, if any. */
export interface Admission {
  spaceId: string | null;
  /** Admits holders of `tenants.delete` also to a tenant that is to be deleted. */
  whileDeleting?: boolean;
}

export function toAdmission(where: string | null | Admission): Admission {
  return where === null || typeof where === 'string' ? { spaceId: where } : where;
}

export const tenantDeleting = () => new DomainError('tenant_deleting', 'This tenant is being deleted.');

const known = new Set<string>(permissions);

/**
 * Effective permissions: tenant roles and space role with all they imply, restricted to the key's own grant.
 * @throws `tenant_suspended`, `tenant_deleting`, `principal_disabled`, and `space_not_found` for a space of another
 *   tenant.
 */
export function admit(
  identity: Identity,
  origin: Origin,
  access: AccessRecord,
  where: string | null | Admission,
): Caller {
  const { spaceId, whileDeleting = false } = toAdmission(where);
  if (access.tenant_status === 'suspended') {
    throw new DomainError('tenant_suspended', 'This tenant is suspended.');
  }
  const isDeleting = access.tenant_status !== 'active';
  if (isDeleting && !whileDeleting) {
    throw tenantDeleting();
  }
  if (access.principal_status !== 'active') {
    throw new DomainError('principal_disabled', 'This principal is disabled.');
  }
  if (spaceId !== null && !access.space_found) {
    throw notFound('space_not_found');
  }
  const roleKeys =
    access.space_role === null ? access.tenant_roles : [...access.tenant_roles, access.space_role];
  const lists = roleKeys.map((key) => own(builtInRoles, key) ?? own(access.custom_roles, key) ?? []);
  const granted = effective(lists, identity.keyPermissions, access.is_platform);
  if (isDeleting && !granted.has('tenants.delete')) {
    throw tenantDeleting();
  }
  const { principal_type: principalType, is_platform: isPlatform } = access;
  const isMember = access.space_role !== null;
  return { ...identity, origin, principalType, isPlatform, spaceId, isMember, granted };
}

/** @throws `missing_permission` with the name of the missing permission. */
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

/** A pure function of its arguments, which repeat from request to request of a principal. */
const effectiveCache = new LRUCache<string, ReadonlySet<Permission>>({ max: 1_000 });

function effective(
  lists: readonly (readonly string[])[],
  keyPermissions: readonly string[] | null,
  isPlatform: boolean,
): ReadonlySet<Permission> {
  const given = `${isPlatform} ${lists.map(textOf).join(' ')} / ${keyPermissions === null ? '' : textOf(keyPermissions)}`;
  const known = effectiveCache.get(given);
  if (known !== undefined) {
    return known;
  }
  const held = expand(lists.flat());
  const allowed = keyPermissions === null ? held : intersect(held, expand(keyPermissions));
  if (!isPlatform) {
    for (const permission of platformOnly) {
      allowed.delete(permission);
    }
  }
  effectiveCache.set(given, allowed);
  return allowed;
}

const spelled = new WeakMap<readonly string[], string>();

/** Cached by object: the lists of built-in roles and of a cached key stay the same objects. */
function textOf(names: readonly string[]): string {
  let text = spelled.get(names);
  if (text === undefined) {
    text = JSON.stringify(names);
    spelled.set(names, text);
  }
  return text;
}

/** The permissions among `names`, with all they imply. */
export function expand(names: readonly string[]): Set<Permission> {
  return new Set(names.filter((name): name is Permission => known.has(name)).flatMap(implied));
}

function intersect(a: Set<Permission>, b: Set<Permission>): Set<Permission> {
  return new Set([...a].filter((permission) => b.has(permission)));
}
