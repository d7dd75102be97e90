import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { listedTools, type ListedTools } from '#domain/capabilities/tools/listed-tools.ts';
import { McpServer } from '#domain/capabilities/tools/mcp-server.entity.ts';
import { asksApproval, isApproved, type McpTool } from '#domain/capabilities/tools/mcp-tool.entity.ts';
import type { WithheldTool } from '#domain/responses/record/response-request.ts';
import type { SizedTool } from './share-room.ts';

export interface ServerOffers {
  tools: SizedTool[];
  withheld: WithheldTool[];
}

/** A connected server and its tools, as far as responses need them. */
export interface ServerCatalogue {
  slug: string;
  /**
   * @param names own or exposed names; null: all that are enabled
   * @throws `tool_not_granted` for a name that is not enabled, known or not
   */
  offers(names: readonly string[] | null): ServerOffers;
}

/** The fields that decide whether a tool is offered. */
type ListedTool = Pick<
  McpTool,
  | 'serverId'
  | 'name'
  | 'exposedName'
  | 'state'
  | 'schemaHash'
  | 'approvedHash'
  | 'annotations'
  | 'requireApproval'
  | 'requiresTask'
  | 'definitionBytes'
  | 'definitionTokens'
>;

/** The tools of personal servers are those of the person's own account, where its list is known. */
export async function readCatalogue(
  em: EntityManager,
  { spaceId, principalId }: { spaceId: string; principalId: string },
): Promise<ServerCatalogue[]> {
  const servers = await em.find(McpServer, { spaceId }, { orderBy: { slug: 'asc' } });
  const tools = Map.groupBy(await listTools(em, spaceId), ({ serverId }) => serverId);
  const accounts = await listedTools(em, { spaceId, principalId });
  return servers.map((server) => ({
    slug: server.slug,
    offers: (names) => {
      const own = tools.get(server.id) ?? [];
      return server.status === 'connected'
        ? offersOf(server, names === null ? own : named(server, own, names), accounts.get(server.id))
        : { tools: [], withheld: [{ name: `mcp__${server.slug}__*`, reason: 'server_unavailable' }] };
    },
  }));
}

/** Without the definitions: a space may have thousands of tools, and each definition is kilobytes. */
function listTools(em: EntityManager, spaceId: string): Promise<ListedTool[]> {
  return em.execute<ListedTool[]>(
    `select t.server_id as "serverId", t.name, t.exposed_name as "exposedName", t.state,
       t.schema_hash as "schemaHash", t.approved_hash as "approvedHash", t.require_approval as "requireApproval",
       t.requires_task as "requiresTask",
       t.definition_bytes as "definitionBytes", t.definition_tokens as "definitionTokens",
       jsonb_build_object('destructiveHint', t.annotations -> 'destructiveHint',
         'readOnlyHint', t.annotations -> 'readOnlyHint') as annotations
     from mcp_tools t join mcp_servers s on s.tenant_id = t.tenant_id and s.id = t.server_id
     where s.space_id = ? and t.state <> 'removed' order by t.name`,
    [spaceId],
  );
}

function named(server: McpServer, tools: readonly ListedTool[], names: readonly string[]): ListedTool[] {
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

function offersOf(
  server: McpServer,
  tools: readonly ListedTool[],
  account: ListedTools | undefined,
): ServerOffers {
  const offers: ServerOffers = { tools: [], withheld: [] };
  const taken = new Set<string>();
  for (const tool of tools) {
    const { exposedName: name } = tool;
    if (!server.enables(tool.name)) {
      offers.withheld.push({ name, reason: 'not_enabled' });
    } else if (!isApproved(tool)) {
      offers.withheld.push({ name, reason: 'schema_changed' });
    } else if (tool.requiresTask) {
      offers.withheld.push({ name, reason: 'task_required' });
    } else if (account !== undefined && account.get(tool.name) !== tool.schemaHash) {
      offers.withheld.push({ name, reason: 'not_in_account' });
    } else if (taken.has(name)) {
      offers.withheld.push({ name, reason: 'name_taken' });
    } else {
      taken.add(name);
      const size = { bytes: tool.definitionBytes, tokens: tool.definitionTokens };
      offers.tools.push({
        type: 'mcp',
        name,
        server_label: server.slug,
        tool: tool.name,
        schema_hash: tool.schemaHash,
        require_approval: asksApproval(tool),
        size,
      });
    }
  }
  return offers;
}
