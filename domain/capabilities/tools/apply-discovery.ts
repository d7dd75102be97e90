import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import { recordEvent, type AuditEvent } from '#domain/foundation/events/record-event.ts';
import { McpServer } from './mcp-server.entity.ts';
import { McpTool } from './mcp-tool.entity.ts';
import type { ServerChallenge, ServerError } from './server-status.ts';
import { exposedName } from './tool-names.ts';
import { cleanDefinition, isUsable } from './tool-definition.ts';
import { schemaHash, type DiscoveredTool } from './tool-server.ts';

export interface DiscoveryFailure {
  error: ServerError;
  challenge?: ServerChallenge | null;
}

export type Discovery = { tools: DiscoveredTool[] } | DiscoveryFailure;

interface AskedWith {
  credentialId: string | null;
  connectionId: string | null;
}

/**
 * Applies a server's current tool list. An enabled tool whose definition differs from the approved one is withheld
 * from here on, until the new one is approved. Safe to repeat.
 * @param askedWith the stored credential or the connection of the discovery: if the server uses another one by now, the
 *   list is discarded. Of a person's accounts each may say what a personal server offers.
 */
export async function applyDiscovery(
  em: EntityManager,
  serverId: string,
  discovery: Discovery,
  askedWith?: AskedWith,
): Promise<McpServer | null> {
  // Locks the server before its tools, like every change of them, so that concurrent changes do not overwrite each
  // other.
  const server = await em.findOne(McpServer, { id: serverId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (server === null || server.status === 'disabled') {
    return server;
  }
  if (askedWith !== undefined && !(await isStillUsed(em, server, askedWith))) {
    return server;
  }
  const before = server.status;
  server.lastCheckedAt = new Date();
  if ('error' in discovery) {
    server.lastError = discovery.error;
    server.challenge = discovery.challenge ?? server.challenge;
    const isRefused = discovery.error === 'unauthorized' || discovery.error === 'authorization_required';
    if (isRefused && server.connectionMode === 'personal' && before === 'connected') {
      // One person's account is refused: the tools stay offered to the others.
      return server;
    }
    server.become(isRefused ? 'auth_required' : 'error');
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

async function isStillUsed(
  em: EntityManager,
  server: McpServer,
  { credentialId, connectionId }: AskedWith,
): Promise<boolean> {
  if (credentialId !== (server.credentialId ?? null)) {
    return false;
  }
  if (server.connectionMode !== 'shared' || connectionId === null) {
    return true;
  }
  const present = 'select 1 from mcp_connections where id = ? and owner_id is null and withdrawn_at is null';
  return (await em.execute<unknown[]>(present, [connectionId])).length > 0;
}

/** Max stored tools of one server. */
const maxTools = 512;

/** @returns the enabled tools that are withheld from now on */
async function mergeTools(
  em: EntityManager,
  server: McpServer,
  discovered: readonly DiscoveredTool[],
): Promise<string[]> {
  const known = new Map((await em.find(McpTool, { serverId: server.id })).map((tool) => [tool.name, tool]));
  const unlisted = unlistedOf(server, discovered, known);
  const kept = storable(server, discovered, { known, room: maxTools - unlisted.length });
  server.toolsLeftOut = discovered.length - kept.length;
  const changed: string[] = [];
  const now = new Date();
  for (const seen of kept) {
    const tool = known.get(seen.name) ?? create(em, server, seen);
    known.delete(seen.name);
    tool.redefine(cleanDefinition(seen), schemaHash(seen));
    tool.requiresTask = seen.requiresTask === true;
    tool.lastSeenAt = now;
    if (!server.enables(tool.name)) {
      tool.state = 'new';
    } else if (tool.approvedHash == null && server.enabledTools.includes('*')) {
      // The wildcard was the approval. A name that is enabled approves only the definition that was reviewed with it.
      tool.approve();
    } else if (tool.isAsApproved()) {
      tool.state = 'approved';
    } else if (tool.state !== 'changed') {
      tool.state = 'changed';
      changed.push(tool.name);
    }
  }
  unlisted.forEach(({ name }) => known.delete(name));
  const gone = [...known.values()].sort((a, b) => b.lastSeenAt.getTime() - a.lastSeenAt.getTime());
  for (const [index, tool] of gone.entries()) {
    // Never-approved tools are deleted, because a server may list new names for ever.
    if (!isDecided(server, tool) && (tool.approvedHash == null || index >= maxTools)) {
      em.remove(tool);
    } else {
      tool.state = 'removed';
    }
  }
  return changed;
}

/** Whether a person has decided on this very tool: a server that lists others for a while does not undo that. */
function isDecided(server: McpServer, tool: McpTool): boolean {
  return server.enabledTools.includes(tool.name) || tool.requireApproval === true;
}

/**
 * Tools in use that the account of a personal server is not listed: other accounts may have them, so that they stay. A
 * call is made only if the caller's own account is listed the tool.
 */
function unlistedOf(
  server: McpServer,
  discovered: readonly DiscoveredTool[],
  known: ReadonlyMap<string, McpTool>,
): McpTool[] {
  const names = new Set(discovered.map(({ name }) => name));
  return server.connectionMode !== 'personal'
    ? []
    : [...known.values()].filter(
        (tool) =>
          tool.state !== 'removed' &&
          tool.approvedHash != null &&
          server.enables(tool.name) &&
          !names.has(tool.name),
      );
}

/** One tool for each name, up to `room`: enabled tools first, else in their order. */
function storable(
  server: McpServer,
  discovered: readonly DiscoveredTool[],
  { known, room }: { known: ReadonlyMap<string, McpTool>; room: number },
): DiscoveredTool[] {
  const byName = new Map<string, DiscoveredTool>();
  for (const seen of discovered) {
    if (isUsable(seen) && !byName.has(seen.name)) {
      byName.set(seen.name, seen);
    }
  }
  const isInUse = ({ name }: DiscoveredTool) => server.enables(name) && known.get(name)?.approvedHash != null;
  const [inUse, others] = [
    [...byName.values()].filter(isInUse),
    [...byName.values()].filter((t) => !isInUse(t)),
  ];
  return [...inUse, ...others].slice(0, room);
}

function create(em: EntityManager, server: McpServer, seen: DiscoveredTool): McpTool {
  return em.create(McpTool, {
    tenantId: server.tenantId,
    serverId: server.id,
    exposedName: exposedName(server.slug, seen.name),
    name: seen.name,
    ...cleanDefinition(seen),
    schemaHash: schemaHash(seen),
  });
}

/** The event of a workflow names the principal that connected the server as its actor. */
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
