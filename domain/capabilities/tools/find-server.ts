import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { validate } from 'uuid';
import type { Context } from '#domain/foundation/access/context.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { McpServer } from './mcp-server.entity.ts';
import { McpTool } from './mcp-tool.entity.ts';

export interface ServerWithTools {
  server: McpServer;
  /** Sorted by name. */
  tools: McpTool[];
}

/** @throws `mcp_server_not_found`, also for a server of another space. */
export function findServer(ctx: Context, serverId: string): Promise<ServerWithTools> {
  return find(ctx, serverId, LockMode.NONE);
}

/** Like `findServer`, locked for a change. */
export function lockServer(ctx: Context, serverId: string): Promise<ServerWithTools> {
  return find(ctx, serverId, LockMode.PESSIMISTIC_WRITE);
}

/** The space of a server, of which only members learn that it exists. @throws `mcp_server_not_found` */
export async function spaceOfServer(em: EntityManager, id: string): Promise<string> {
  const server = await em.findOne(McpServer, { id });
  if (server === null) {
    throw notFound('mcp_server_not_found');
  }
  return server.spaceId;
}

async function find(ctx: Context, serverId: string, lockMode: LockMode): Promise<ServerWithTools> {
  const server = validate(serverId)
    ? await ctx.em.findOne(McpServer, { id: serverId, spaceId: spaceOf(ctx.caller) }, { lockMode })
    : null;
  if (server === null) {
    throw notFound('mcp_server_not_found');
  }
  return { server, tools: await toolsOf(ctx, [server]) };
}

export async function toolsOf(ctx: Context, servers: readonly McpServer[]): Promise<McpTool[]> {
  return ctx.em.find(
    McpTool,
    { serverId: servers.map((server) => server.id) },
    { orderBy: { serverId: 'asc', name: 'asc' } },
  );
}
