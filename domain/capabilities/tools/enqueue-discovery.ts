import type { Context } from '#domain/foundation/access/context.ts';
import { start } from '#domain/foundation/durable/messages.ts';
import { holdWaiting } from '#domain/foundation/durable/outbox.ts';
import type { McpServer } from './mcp-server.entity.ts';

/**
 * Enqueues one discovery of the server's tools, unless the same waits to begin: that reads what this change leaves.
 * Each has its own workflow, numbered within its server.
 * At a personal server the caller's account is asked.
 * @param options.accountOnly the list is stored for that account; what the server offers to others stays as it is
 */
export async function enqueueDiscovery(
  ctx: Context,
  server: McpServer,
  { accountOnly = false } = {},
): Promise<void> {
  const { tenantId, id: serverId, spaceId } = server;
  const number = server.discoveryCount + 1;
  const account = {
    ...(server.connectionMode === 'personal' ? { principalId: ctx.caller.principalId } : {}),
    ...(accountOnly ? { accountOnly: true as const } : {}),
  };
  const discovery = start('discoverTools', { tenantId, spaceId, serverId, number, ...account });
  if (await holdWaiting(ctx.em, discovery)) {
    return;
  }
  server.discoveryCount = number;
  await ctx.enqueue(discovery);
}
