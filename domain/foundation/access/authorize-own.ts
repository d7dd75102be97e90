import type { Caller, Identity } from './caller.ts';
import type { Permission } from './permissions.ts';
import { authorize, expand } from './policy.ts';

/**
 * Whether the caller's key lets it at what is its own: no grant is needed, but the key of a caller must not be cut
 * down to something else than one of `permissions`.
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
 * One's own needs no grant, anybody else's needs `permission`.
 * @param making what lets a key that is cut down make such things, and so lets it at them
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
