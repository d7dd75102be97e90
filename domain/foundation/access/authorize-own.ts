import type { Caller, Identity } from './caller.ts';
import type { Permission } from './permissions.ts';
import { authorize, expand } from './policy.ts';

/**
 * Whether the caller's key permits access to the caller's own resources. No grant is needed, but a restricted key
 * must hold one of `permissions`.
 */
export function reachesOwn(
  { keyPermissions }: Pick<Identity, 'keyPermissions'>,
  ...permissions: readonly Permission[]
): boolean {
  if (keyPermissions === null) {
    return true;
  }
  const granted = expand(keyPermissions);
  return permissions.some((permission) => granted.has(permission));
}

/**
 * The caller's own resource needs no grant; another principal's needs `permission`.
 * @param making permissions to create such a resource; each also lets a restricted key reach the caller's own ones
 * @throws `missing_permission`
 */
export function authorizeOwn(
  caller: Caller,
  permission: Permission,
  owner: string | undefined,
  making: Permission = permission,
): void {
  if (owner !== caller.principalId || !reachesOwn(caller, permission, making)) {
    authorize(caller, permission);
  }
}
