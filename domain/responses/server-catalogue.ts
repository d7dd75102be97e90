import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '#domain/kernel/errors.ts';
import { McpServer } from '#domain/tools/mcp-server.entity.ts';
import { McpTool } from '#domain/tools/mcp-tool.entity.ts';
import type { OfferedMcpTool, WithheldTool } from './response-request.ts';

export interface ServerOffers {
  tools: OfferedMcpTool[];
  withheld: WithheldTool[];
}

/** A connected server and its tools, as far as responses are concerned. */
export interface ServerCatalogue {
  slug: string;
  /**
   * @param names own or exposed names; null: all that are enabled.
   * @throws `tool_not_granted` for a name that is not enabled, known or not
   */
  offers(names: readonly string[] | null): ServerOffers;
}

export async function readCatalogue(em: EntityManager, spaceId: string): Promise<ServerCatalogue[]> {
  const servers = await em.find(McpServer, { spaceId }, { orderBy: { slug: 'asc' } });
  const tools = await em.find(
    McpTool,
    { serverId: servers.map(({ id }) => id), state: { $ne: 'removed' } },
    { orderBy: { name: 'asc' } },
  );
  return servers.map((server) => ({
    slug: server.slug,
    offers: (names) => {
      const own = tools.filter(({ serverId }) => serverId === server.id);
      return server.status === 'connected'
        ? offersOf(server, names === null ? own : named(server, own, names))
        : { tools: [], withheld: [{ name: `mcp__${server.slug}__*`, reason: 'server_unavailable' }] };
    },
  }));
}

function named(server: McpServer, tools: readonly McpTool[], names: readonly string[]): McpTool[] {
  return names.map((name) => {
    const tool = tools.find((each) => each.name === name || each.exposedName === name);
    if (tool === undefined || !server.enables(tool.name)) {
      throw notGranted();
    }
    return tool;
  });
}

export function notGranted(): DomainError {
  return new DomainError('tool_not_granted', 'A tool that was asked for is not enabled in this space.', {
    param: 'tools',
  });
}

function offersOf(server: McpServer, tools: readonly McpTool[]): ServerOffers {
  const offers: ServerOffers = { tools: [], withheld: [] };
  for (const tool of tools) {
    const { exposedName: name } = tool;
    if (!server.enables(tool.name)) {
      offers.withheld.push({ name, reason: 'not_enabled' });
    } else if (!tool.isApproved()) {
      offers.withheld.push({ name, reason: 'schema_changed' });
    } else if (offers.tools.some((offer) => offer.name === name)) {
      offers.withheld.push({ name, reason: 'name_taken' });
    } else {
      offers.tools.push({
        type: 'mcp',
        name,
        server_label: server.slug,
        tool: tool.name,
        description: tool.description,
        parameters: tool.inputSchema,
        require_approval: tool.requireApproval,
      });
    }
  }
  return offers;
}
