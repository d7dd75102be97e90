import type { Context } from '#domain/foundation/access/context.ts';
import { enqueueStart } from '#domain/foundation/durable/outbox.ts';
import type { McpServer } from './mcp-server.entity.ts';

/** Owes the engine one reading of the server's tools. Each has its own workflow, numbered within its server. */
export async function oweDiscovery(ctx: Context, server: McpServer): Promise<void> {
  server.discoveryCount += 1;
  const { tenantId, id: serverId, spaceId, discoveryCount: number } = server;
  const start = await enqueueStart(ctx.em, {
    tenantId,
    workflowType: 'discoverTools',
    workflowId: `mcp-server/${tenantId}/${serverId}/${number}`,
    payload: { tenantId, spaceId, serverId },
  });
  ctx.dispatches.push(start);
}
