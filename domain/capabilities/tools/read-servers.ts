import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { findServer, toolsOf, type ServerWithTools } from './find-server.ts';
import { McpServer } from './mcp-server.entity.ts';

/** @throws `missing_permission`, `mcp_server_not_found` */
export async function readServer(ctx: Context, input: { serverId: string }): Promise<ServerWithTools> {
  authorize(ctx.caller, 'mcp_servers.read');
  return findServer(ctx, input.serverId);
}

/** The space's tool servers, newest first. */
export async function listServers(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<ServerWithTools>> {
  authorize(ctx.caller, 'mcp_servers.read');
  const spaceId = spaceOf(ctx.caller);
  const page = await keysetPage(ctx, {
    ...input,
    entity: McpServer,
    where: { spaceId },
    operation: 'mcp_servers.list',
    filters: { spaceId },
    // Three times, for each definition, its approved version and their difference.
    bytes: `select server_id as id, 3 * sum(definition_bytes)::float8 as bytes from mcp_tools
      where server_id in (select jsonb_array_elements_text(?::jsonb)::uuid) group by server_id`,
  });
  const tools = await toolsOf(ctx, page.items);
  return {
    nextCursor: page.nextCursor,
    items: page.items.map((server) => ({
      server,
      tools: tools.filter((tool) => tool.serverId === server.id),
    })),
  };
}
