import type { Caller } from '#domain/foundation/access/caller.ts';
import { authorize } from '#domain/foundation/access/policy.ts';

/**
 * Beyond the permission to connect: everybody's responses in the space use its shared connection, which only callers
 * who may change the server replace or end. @throws `missing_permission`
 */
export function authorizeOwner(caller: Caller, ownerId: string | null): void {
  if (ownerId === null) {
    authorize(caller, 'mcp_servers.update');
  }
}
