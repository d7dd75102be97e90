import { authorizeOwn } from '#domain/foundation/access/authorize-own.ts';
import type { Caller } from '#domain/foundation/access/caller.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';

/**
 * The caller's own threads need no grant as long as the caller is a member of their space, where other members
 * continue in them, or may write there by a tenant-wide role. @throws `missing_permission`
 */
export function authorizeThread(caller: Caller, permission: Permission, owner: string | undefined): void {
  const isThere = caller.isMember || caller.granted.has('messages.create');
  authorizeOwn(caller, permission, isThere ? owner : undefined, 'messages.create');
}
