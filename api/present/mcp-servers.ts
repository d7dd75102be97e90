import type { ServerRecord } from '#api/contract/mcp-servers.ts';
import type { ServerWithTools } from '#domain/tools/find-server.ts';
import type { McpTool } from '#domain/tools/mcp-tool.entity.ts';

/** The contract's record, with what we add behind it. Credentials are named, never shown. */
export function presentServer({ server, tools }: ServerWithTools): ServerRecord {
  return {
    mcp_server_config_id: server.id,
    slug: server.slug,
    display_name: server.displayName,
    transport_type: server.transportType,
    status: server.status,
    icon_url: server.iconUrl ?? null,
    enabled_tools: server.enabledTools,
    tool_count: tools.filter((tool) => tool.state !== 'removed').length,
    discovered_tools: tools.map(presentTool),
    created_at: server.createdAt.toISOString(),
    space_id: server.spaceId,
    url: server.url,
    credential_ref: server.credentialRef ?? null,
    last_error: server.lastError ?? null,
    last_checked_at: server.lastCheckedAt?.toISOString() ?? null,
    updated_at: server.updatedAt.toISOString(),
  };
}

function presentTool(tool: McpTool): ServerRecord['discovered_tools'][number] {
  return {
    name: tool.name,
    exposed_name: tool.exposedName,
    title: tool.title ?? null,
    description: tool.description,
    input_schema: tool.inputSchema,
    annotations: tool.annotations ?? null,
    schema_hash: tool.schemaHash,
    state: tool.state,
    repeatable: tool.repeatable,
    require_approval: tool.requireApproval,
    first_seen_at: tool.firstSeenAt.toISOString(),
    last_seen_at: tool.lastSeenAt.toISOString(),
  };
}
