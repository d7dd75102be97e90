import type { z } from 'zod';
import type { ServerRecord, updateServerBody } from '#api/contract/tools.ts';
import { definitionDifference } from '#domain/capabilities/tools/definition-difference.ts';
import type { ServerWithTools } from '#domain/capabilities/tools/find-server.ts';
import type { McpTool } from '#domain/capabilities/tools/mcp-tool.entity.ts';
import { definitionOf } from '#domain/capabilities/tools/tool-definition.ts';

/** The contract's record with additional members. Credentials are named, never shown. */
export function presentServer({ server, tools }: ServerWithTools): ServerRecord {
  const changed = tools.filter(isAnother).length;
  return {
    mcp_server_config_id: server.id,
    slug: server.slug,
    display_name: server.displayName,
    transport_type: server.transportType,
    status: server.status,
    icon_url: server.iconUrl ?? null,
    enabled_tools: server.enabledTools,
    tool_count: tools.filter((tool) => tool.state !== 'removed').length,
    tools_left_out: server.toolsLeftOut,
    discovered_tools: tools.map((tool) => presentTool(tool, changed)),
    created_at: server.createdAt.toISOString(),
    space_id: server.spaceId,
    url: server.url,
    credential_ref: server.credentialRef ?? null,
    credential_id: server.credentialId ?? null,
    connection_mode: server.connectionMode,
    connection_resource: server.connectionResource ?? null,
    client_credential_id: server.clientCredentialId ?? null,
    last_error: server.lastError ?? null,
    last_checked_at: server.lastCheckedAt?.toISOString() ?? null,
    updated_at: server.updatedAt.toISOString(),
  };
}

function isAnother(tool: McpTool): boolean {
  return tool.approvedHash != null && !tool.isAsApproved();
}

function presentTool(tool: McpTool, changed: number): ServerRecord['discovered_tools'][number] {
  return {
    name: tool.name,
    exposed_name: tool.exposedName,
    ...presentDefinition(tool),
    hidden_characters: tool.hiddenCharacters,
    schema_hash: tool.schemaHash,
    state: tool.state,
    repeatable: tool.repeatable,
    require_approval: tool.asksApproval(),
    requires_task: tool.requiresTask,
    approved_definition:
      isAnother(tool) && tool.approvedDefinition != null
        ? { ...presentDefinition(tool.approvedDefinition), schema_hash: tool.approvedHash ?? '' }
        : null,
    difference: isAnother(tool) ? definitionDifference(tool, changed) : null,
    first_seen_at: tool.firstSeenAt.toISOString(),
    last_seen_at: tool.lastSeenAt.toISOString(),
  };
}

function presentDefinition(of: Parameters<typeof definitionOf>[0]) {
  const { title, description, inputSchema, outputSchema, annotations } = definitionOf(of);
  return {
    title,
    description,
    input_schema: inputSchema,
    output_schema: outputSchema,
    annotations,
  };
}

type Settings = Pick<
  z.infer<typeof updateServerBody>,
  'connection_mode' | 'connection_resource' | 'client_credential_id'
>;

/** Converts the wire's connection settings to the use case's input. */
export function toConnectionSettings(body: Settings) {
  return {
    connectionMode: body.connection_mode,
    connectionResource: body.connection_resource,
    clientCredentialId: body.client_credential_id,
  };
}

/** Converts the wire's tool settings to the use case's input. */
export function toToolSettings({ enabled_tools: enabled, tools }: z.infer<typeof updateServerBody>) {
  return {
    enabledTools: enabled?.map((each) =>
      typeof each === 'string'
        ? { name: each }
        : { name: each.name, schemaHash: each.schema_hash, requireApproval: each.require_approval },
    ),
    tools: tools?.map(({ require_approval: requireApproval, ...rest }) => ({ ...rest, requireApproval })),
  };
}
