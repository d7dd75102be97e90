import type { Context } from '#domain/foundation/access/context.ts';
import { start } from '#domain/foundation/durable/messages.ts';
import type { McpServer } from './mcp-server.entity.ts';

/**
 * Enqueues one discovery of the server's tools. Each has its own workflow, numbered within its server.
 * @param principalId whose connection is used; omitted: that of the principal that registered the server
 */
export async function enqueueDiscovery(ctx: Context, server: McpServer, principalId?: string): Promise<void> {
  server.discoveryCount += 1;
  const { tenantId, id: serverId, spaceId, discoveryCount: number } = server;
  const asked = principalId === undefined ? {} : { principalId };
  await ctx.enqueue(start('discoverTools', { tenantId, spaceId, serverId, number, ...asked }));
}
