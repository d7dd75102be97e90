import type { Caller } from '#domain/foundation/access/caller.ts';
import { authorize } from '#domain/foundation/access/policy.ts';

/**
 * Everybody's responses in the space use its shared connection: only callers who may change the server replace or end
 * it. @throws `missing_permission`
 */
export function authorizeOwner(caller: Caller, ownerId: string | null): void {
  authorize(caller, 'mcp_servers.connect');
  if (ownerId === null) {
    authorize(caller, 'mcp_servers.update');
  }
}
