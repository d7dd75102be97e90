import type { Caller } from './caller.ts';
import type { Permission } from './permissions.ts';
import { authorize, expand } from './policy.ts';

/** Whether `permission` holds for what is the caller's own: no grant is needed, but no cut-down key without it. */
export function reachesOwn(caller: Caller, permission: Permission): boolean {
  return caller.keyPermissions === null || expand(caller.keyPermissions).has(permission);
}

/** One's own needs no grant, anybody else's needs `permission`. @throws `missing_permission` */
export function authorizeOwn(caller: Caller, permission: Permission, owner: string | undefined): void {
  if (owner !== caller.principalId || !reachesOwn(caller, permission)) {
    authorize(caller, permission);
  }
}
