import { reachesOwn } from '#domain/access/authorize-own.ts';
import type { Caller } from '#domain/access/caller.ts';
import type { Permission } from '#domain/access/permissions.ts';

/**
 * Whether the caller gets at its own threads without a grant. A thread stays in its space, where others go on in it:
 * so only who is still in the space does, or who may still write there by a role in the whole tenant; and no key that
 * was cut down to something else.
 */
export function reachesOwnThreads(caller: Caller, permission: Permission): boolean {
  const isThere = caller.isMember || caller.granted.has('messages.create');
  return isThere && reachesOwn(caller, permission, 'messages.create');
}
