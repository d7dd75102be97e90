import type { EntityManager } from '@mikro-orm/postgresql';
import { McpServer } from './mcp-server.entity.ts';
import { McpTool } from './mcp-tool.entity.ts';
import { toSpec } from './server-spec.ts';
import type { ToolServerSpec } from './tool-server.ts';

/** A tool that may be called now. */
export interface ApprovedTool {
  /** The platform's own setting: a server's claims about itself do not count. */
  repeatable: boolean;
  requireApproval: boolean;
  target: { serverId: string; server: ToolServerSpec; tool: string; schemaHash: string };
}

/** A tool as a principal may call it. Null: unknown, disabled, or not as approved. */
export async function approvedTool(
  em: EntityManager,
  { spaceId, principalId }: { spaceId: string; principalId: string },
  { slug, name }: { slug: string; name: string },
): Promise<ApprovedTool | null> {
  const server = await em.findOne(McpServer, { spaceId, slug });
  if (server === null || server.status === 'disabled') {
    return null;
  }
  const tool = await em.findOne(McpTool, { serverId: server.id, name });
  return tool?.isCallable() === true && server.enables(name)
    ? {
        repeatable: tool.repeatable,
        requireApproval: tool.asksApproval(),
        target: {
          serverId: server.id,
          server: toSpec(server, principalId),
          tool: name,
          schemaHash: tool.schemaHash,
        },
      }
    : null;
}
