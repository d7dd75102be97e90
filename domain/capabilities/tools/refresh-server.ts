import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { lockServer, type ServerWithTools } from './find-server.ts';
import { enqueueDiscovery } from './enqueue-discovery.ts';

/**
 * Enqueues a discovery of the server's tools. @throws `mcp_server_not_found`, `invalid_state` for a disabled server
 */
export async function refreshServer(ctx: Context, input: { serverId: string }): Promise<ServerWithTools> {
  authorize(ctx.caller, 'mcp_servers.connect');
  const found = await lockServer(ctx, input.serverId);
  if (found.server.status === 'disabled') {
    throw new DomainError('invalid_state', 'A disabled tool server is not read.');
  }
  await enqueueDiscovery(ctx, found.server);
  return found;
}
