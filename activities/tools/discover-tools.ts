import { Context } from '@temporalio/activity';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { saveListedTools } from '#domain/capabilities/tools/listed-tools.ts';
import { applyDiscovery, type DiscoveryFailure } from '#domain/capabilities/tools/apply-discovery.ts';
import { McpServer } from '#domain/capabilities/tools/mcp-server.entity.ts';
import { McpTool } from '#domain/capabilities/tools/mcp-tool.entity.ts';
import { toSpec } from '#domain/capabilities/tools/server-spec.ts';
import {
  ToolServerFailure,
  type ToolList,
  type ToolServerGateway,
  type ToolServerSpec,
} from '#domain/capabilities/tools/tool-server.ts';
import type { DiscoverToolsInput, DiscoverToolsResult } from '#workflows/discover-tools/messages.ts';

export interface DiscoveryDependencies {
  unitOfWork: UnitOfWork;
  toolServers: ToolServerGateway;
}

/** Discovers a server's tools and applies the result. Idempotent. */
export async function discoverTools(
  deps: DiscoveryDependencies,
  { tenantId, serverId, principalId, accountOnly }: DiscoverToolsInput,
): Promise<DiscoverToolsResult> {
  const { unitOfWork, toolServers } = deps;
  const server = await unitOfWork.inTenant(tenantId, (em) => em.findOne(McpServer, { id: serverId }));
  const spec = server === null ? null : toSpec(server, principalId ?? server.createdBy);
  const discovery = spec === null || server?.status === 'disabled' ? null : await ask(toolServers, spec);
  return unitOfWork.inTenant(tenantId, async (em) => {
    const account = spec?.connection;
    if (account != null && account.ownerId !== null && discovery !== null && 'tools' in discovery) {
      await saveListedTools(em, discovery);
    }
    const after =
      discovery === null || accountOnly === true
        ? null
        : await applyDiscovery(em, serverId, discovery, {
            credentialId: server?.credentialId ?? null,
            connectionId: 'tools' in discovery ? discovery.connectionId : null,
          });
    await em.flush();
    const tools = await em.count(McpTool, { serverId, state: { $ne: 'removed' } });
    const failure = discovery !== null && 'error' in discovery ? { error: discovery.error } : {};
    return { status: (after ?? server)?.status ?? 'gone', tools, ...failure };
  });
}

async function ask(
  toolServers: ToolServerGateway,
  spec: ToolServerSpec,
): Promise<ToolList | DiscoveryFailure> {
  const signal = Context.current().cancellationSignal;
  try {
    return await toolServers.discover(spec, signal);
  } catch (error) {
    // An abort on this side is no failure of the server.
    signal.throwIfAborted();
    if (error instanceof ToolServerFailure) {
      return { error: error.code, challenge: error.challenge };
    }
    throw error;
  }
}
