import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { rebuildActor } from '#domain/access/rebuild-actor.ts';
import { recordEvent, type AuditEvent } from '#domain/events/record-event.ts';
import { McpServer } from './mcp-server.entity.ts';
import { McpTool } from './mcp-tool.entity.ts';
import type { ServerError } from './server-status.ts';
import { exposedName } from './tool-names.ts';
import { schemaHash, type DiscoveredTool } from './tool-server.ts';

export type Discovery = { tools: DiscoveredTool[] } | { error: ServerError };

/**
 * Takes in what a server says of itself now. An enabled tool whose definition is not the approved one is
 * withheld from here on, until somebody saves the enabled tools again. Safe to repeat.
 */
export async function applyDiscovery(
  em: EntityManager,
  serverId: string,
  discovery: Discovery,
): Promise<McpServer | null> {
  // The server before its tools, like whoever decides about them: neither overwrites what the other has just said.
  const server = await em.findOne(McpServer, { id: serverId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (server === null || server.status === 'disabled') {
    return server;
  }
  const before = server.status;
  server.lastCheckedAt = new Date();
  if ('error' in discovery) {
    server.lastError = discovery.error;
    server.become(discovery.error === 'unauthorized' ? 'auth_required' : 'error');
    if (before !== server.status) {
      const type = server.status === 'error' ? 'space.mcp_server_failed' : 'space.mcp_auth_required';
      await record(em, server, { type, outcome: 'failure', metadata: { reason: discovery.error } });
    }
    return server;
  }
  server.lastError = null;
  server.become('connected');
  const changed = await mergeTools(em, server, discovery.tools);
  if (before !== 'connected') {
    await record(em, server, {
      type: 'space.mcp_server_connected',
      metadata: { tools: discovery.tools.length },
    });
  }
  if (changed.length > 0) {
    await record(em, server, { type: 'space.mcp_tools_changed', metadata: { tools: changed.join(',') } });
  }
  return server;
}

/** @returns the enabled tools that are withheld from now on */
async function mergeTools(
  em: EntityManager,
  server: McpServer,
  discovered: readonly DiscoveredTool[],
): Promise<string[]> {
  const known = new Map((await em.find(McpTool, { serverId: server.id })).map((tool) => [tool.name, tool]));
  const changed: string[] = [];
  const now = new Date();
  for (const seen of discovered) {
    const tool = known.get(seen.name) ?? create(em, server, seen);
    known.delete(seen.name);
    Object.assign(tool, { ...seen, schemaHash: schemaHash(seen), lastSeenAt: now });
    if (!server.enables(tool.name)) {
      tool.state = 'new';
    } else if (tool.approvedHash == null) {
      // Only a new tool under "*" gets here: the wildcard was the approval.
      tool.approve();
    } else if (tool.approvedHash === tool.schemaHash) {
      tool.state = 'approved';
    } else if (tool.state !== 'changed') {
      tool.state = 'changed';
      changed.push(tool.name);
    }
  }
  for (const gone of known.values()) {
    gone.state = 'removed';
  }
  return changed;
}

function create(em: EntityManager, server: McpServer, seen: DiscoveredTool): McpTool {
  return em.create(McpTool, {
    tenantId: server.tenantId,
    serverId: server.id,
    exposedName: exposedName(server.slug, seen.name),
    ...seen,
    schemaHash: schemaHash(seen),
  });
}

/** A workflow's act names whoever connected the server. */
async function record(
  em: EntityManager,
  server: McpServer,
  event: Pick<AuditEvent, 'type' | 'outcome' | 'metadata'>,
): Promise<void> {
  const actor = await rebuildActor(em, { tenantId: server.tenantId, principalId: server.createdBy });
  await recordEvent(em, actor, {
    ...event,
    resource: { type: 'mcp_server', id: server.id },
    metadata: { space_id: server.spaceId, slug: server.slug, ...event.metadata },
  });
}
