import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { changedFields } from '#domain/foundation/kernel/changed-fields.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { applyConnectionSettings, type ConnectionSettings } from './connection-settings.ts';
import { enableTools, type EnabledTool } from './enable-tools.ts';
import { lockServer, type ServerWithTools } from './find-server.ts';
import type { McpServer } from './mcp-server.entity.ts';
import type { McpTool } from './mcp-tool.entity.ts';
import { enqueueDiscovery } from './enqueue-discovery.ts';
import { requireName, requireServerCredential } from './register-server.ts';

export interface ToolSetting {
  name: string;
  /** Whether a started call whose outcome was lost may be repeated, with the same key. */
  repeatable?: boolean | undefined;
  /** null: as its annotations say. */
  requireApproval?: boolean | null | undefined;
}

/** Omitted fields stay unchanged. */
export interface UpdateServer {
  serverId: string;
  /** `*` stands for all tools, future ones included; an empty list for none. */
  enabledTools?: EnabledTool[] | undefined;
  tools?: ToolSetting[] | undefined;
  displayName?: string | undefined;
  iconUrl?: string | null | undefined;
  /** A stored credential that replaces the present one; null removes a stored one. */
  credentialId?: string | null | undefined;
  /** false: no tool of the server is offered or called. */
  enabled?: boolean | undefined;
  connection?: ConnectionSettings;
}

/**
 * An update without a change records no event.
 * @throws `missing_permission`, `mcp_server_not_found`, `invalid_request` naming unknown tools, or an unusable
 *   credential, `tool_definition_conflict` where an approval is of an outdated definition
 */
export async function updateServer(ctx: Context, input: UpdateServer): Promise<ServerWithTools> {
  authorize(ctx.caller, 'mcp_servers.update');
  const found = await lockServer(ctx, input.serverId);
  const { server, tools } = found;
  const before = appearance(server);
  if (input.displayName !== undefined) {
    server.displayName = requireName(input.displayName);
  }
  if (input.iconUrl !== undefined) {
    server.iconUrl = input.iconUrl;
  }
  const changed: string[] = changedFields(['display_name', 'icon_url'], appearance(server), before);
  const isChanged = await changeCredential(ctx, server, input.credentialId);
  if (isChanged) {
    changed.push('credential_id');
  }
  changed.push(...(await applyConnectionSettings(ctx, server, input.connection ?? {})));
  const isSwitched = input.enabled !== undefined && input.enabled === (server.status === 'disabled');
  if (isSwitched) {
    server.become(input.enabled === true ? 'pending' : 'disabled');
    changed.push('status');
  }
  const hasOtherMode = changed.includes('connection_mode');
  if ((isChanged || isSwitched || hasOtherMode) && server.status !== 'disabled') {
    await enqueueDiscovery(ctx, server);
  }
  const decided = decisions(found);
  if (input.enabledTools !== undefined) {
    enableTools(found, input.enabledTools);
  }
  for (const setting of input.tools ?? []) {
    apply(tools, setting);
  }
  const redecided = decisions(found) !== decided;
  if (changed.length > 0 || redecided) {
    server.updatedAt = new Date();
  }
  const resource = { type: 'mcp_server' as const, id: server.id };
  const place = { space_id: server.spaceId, slug: server.slug };
  if (changed.length > 0) {
    await recordEvent(ctx.em, ctx.caller, {
      type: 'space.mcp_server_updated',
      resource,
      changedFields: changed,
      metadata: place,
    });
  }
  if (redecided) {
    await recordEvent(ctx.em, ctx.caller, {
      type: 'space.mcp_tools_updated',
      resource,
      metadata: { ...place, enabled_tools: server.enabledTools.join(',') },
    });
  }
  return found;
}

/** A server has one credential at most: a stored one replaces a variable. */
async function changeCredential(
  ctx: Context,
  server: McpServer,
  credentialId: string | null | undefined,
): Promise<boolean> {
  if (credentialId === undefined || credentialId === (server.credentialId ?? null)) {
    return false;
  }
  if (credentialId !== null) {
    await requireServerCredential(ctx, { credentialId, spaceId: server.spaceId, url: server.url });
    server.credentialRef = null;
    server.credentialHeader = null;
  }
  server.credentialId = credentialId;
  return true;
}

const appearance = ({ displayName, iconUrl }: McpServer) => ({
  display_name: displayName,
  icon_url: iconUrl,
});

/** All settings of a server's tools, for comparison. */
function decisions({ server, tools }: ServerWithTools): string {
  const each = tools.map(({ state, approvedHash, repeatable, requireApproval }) => [
    state,
    approvedHash,
    repeatable,
    requireApproval,
  ]);
  return JSON.stringify([server.enabledTools.toSorted(), each]);
}

function apply(tools: readonly McpTool[], setting: ToolSetting): void {
  const tool = tools.find(({ name }) => name === setting.name);
  if (tool === undefined) {
    throw invalid('tools', 'tools names an unknown tool.');
  }
  tool.repeatable = setting.repeatable ?? tool.repeatable;
  tool.requireApproval =
    setting.requireApproval === undefined ? (tool.requireApproval ?? null) : setting.requireApproval;
}
