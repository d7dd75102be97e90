import type { Context } from '#domain/foundation/access/context.ts';
import { start } from '#domain/foundation/durable/messages.ts';
import type { McpServer } from './mcp-server.entity.ts';

/**
 * Enqueues one discovery of the server's tools. Each has its own workflow, numbered within its server.
 * At a personal server the caller's account is asked.
 * @param options.accountOnly the list is stored for that account; what the server offers to others stays as it is
 */
export async function enqueueDiscovery(
  ctx: Context,
  server: McpServer,
  { accountOnly = false } = {},
): Promise<void> {
  server.discoveryCount += 1;
  const { tenantId, id: serverId, spaceId, discoveryCount: number } = server;
  const account = {
    ...(server.connectionMode === 'personal' ? { principalId: ctx.caller.principalId } : {}),
    ...(accountOnly ? { accountOnly: true as const } : {}),
  };
  await ctx.enqueue(start('discoverTools', { tenantId, spaceId, serverId, number, ...account }));
}
