import { authorizeOwn } from '#domain/foundation/access/authorize-own.ts';
import type { Caller } from '#domain/foundation/access/caller.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';

/**
 * One's own threads need no grant while one is still in their space, where others go on in them, or may write there by
 * a role in the whole tenant. @throws `missing_permission`
 */
export function authorizeThread(caller: Caller, permission: Permission, owner: string | undefined): void {
  const isThere = caller.isMember || caller.granted.has('messages.create');
  authorizeOwn(caller, permission, isThere ? owner : undefined, 'messages.create');
}
