import type { Context } from '#domain/foundation/access/context.ts';
import { start } from '#domain/foundation/durable/messages.ts';
import type { McpServer } from './mcp-server.entity.ts';

/** Enqueues one discovery of the server's tools. Each has its own workflow, numbered within its server. */
export async function enqueueDiscovery(ctx: Context, server: McpServer): Promise<void> {
  server.discoveryCount += 1;
  const { tenantId, id: serverId, spaceId, discoveryCount: number } = server;
  await ctx.enqueue(start('discoverTools', { tenantId, spaceId, serverId, number }));
}
