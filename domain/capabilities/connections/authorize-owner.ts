import type { Caller } from '#domain/foundation/access/caller.ts';
import { authorize } from '#domain/foundation/access/policy.ts';

/**
 * A caller who may call the tools of a server connects an own account there. Everybody's responses in the space use its shared
 * connection, which only callers who may change the server make, replace or end. @throws `missing_permission`
 */
export function authorizeOwner(caller: Caller, ownerId: string | null): void {
  authorize(caller, 'tools.execute');
  if (ownerId === null) {
    authorize(caller, 'mcp_servers.update');
  }
}
