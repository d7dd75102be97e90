import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { findServer } from '#domain/capabilities/tools/find-server.ts';
import type { McpServer } from '#domain/capabilities/tools/mcp-server.entity.ts';
import { AuthorizationAttempt } from './authorization-attempt.entity.ts';
import type { ConnectionStatus } from './connection-status.ts';
import { Connection } from './connection.entity.ts';
import { findConnection, ownerFor } from './find-connection.ts';

/** What a connection is for: a tool server, or a connector. */
export interface ConnectionHolder {
  serverId: string | null;
  connectorId: string | null;
  owner: 'personal' | 'shared';
}

/** A connection as its owner sees it, also where there is none yet. */
export interface ShownConnection extends ConnectionHolder {
  status: ConnectionStatus;
  issuer: string | null;
  grantedScopes: string[];
  /** Of a call that was refused for lack of them. */
  requiredScopes: string[];
  expiresAt: Date | null;
  connectedAt: Date | null;
}

/**
 * The caller's connection to a server, or the space's shared one. @throws `missing_permission`, `mcp_server_not_found`,
 * `invalid_state` for a server that is used without a connection
 */
export async function readConnection(
  ctx: Context,
  { serverId }: { serverId: string },
): Promise<ShownConnection> {
  authorize(ctx.caller, 'mcp_servers.read');
  const { server } = await findServer(ctx, serverId);
  requireMode(server);
  const ownerId = ownerFor(server, ctx.caller.principalId);
  const connection = await findConnection(ctx.em, { serverId: server.id, ownerId });
  const open = await findOpenAttempt(ctx, { serverId: server.id });
  return shownConnection(holderOf(server), connection, open);
}

/** The caller's attempt whose popup is open. */
export async function findOpenAttempt(
  { em, caller }: Context,
  of: { serverId: string } | { connectorId: string },
): Promise<AuthorizationAttempt | null> {
  return em.findOne(AuthorizationAttempt, {
    ...of,
    initiatorId: caller.principalId,
    stage: { $ne: 'ended' },
    expiresAt: { $gt: await databaseNow(em) },
  });
}

export function holderOf({ id: serverId, connectionMode }: McpServer): ConnectionHolder {
  return { serverId, connectorId: null, owner: connectionMode === 'shared' ? 'shared' : 'personal' };
}

/** @throws `invalid_state` */
export function requireMode(server: McpServer): void {
  if (server.connectionMode === 'none') {
    throw new DomainError('invalid_state', 'This tool server is not used with a connection.');
  }
}

export function shownConnection(
  holder: ConnectionHolder,
  connection: Connection | null,
  open: AuthorizationAttempt | null,
): ShownConnection {
  const status = connection?.status === 'connected' ? 'connected' : open === null ? null : 'pending';
  return {
    ...holder,
    status: status ?? connection?.status ?? 'auth_required',
    issuer: connection?.issuer ?? null,
    grantedScopes: listOf(connection?.grantedScope),
    requiredScopes: listOf(connection?.requiredScope),
    expiresAt: connection?.expiresAt ?? null,
    connectedAt: connection?.connectedAt ?? null,
  };
}

/** A connection as administrators see it. */
export interface ListedConnection {
  connection: Connection;
  /** Whether the person that made it is active and a member of the space: a shared one outlives that. */
  isByMember: boolean;
}

/** Who is connected to a server, newest first. @throws `missing_permission`, `mcp_server_not_found` */
export async function listConnections(
  ctx: Context,
  input: { serverId: string; limit: number; cursor: string | null },
): Promise<Page<ListedConnection>> {
  authorize(ctx.caller, 'mcp_servers.update');
  const { server } = await findServer(ctx, input.serverId);
  const where = { serverId: server.id, withdrawnAt: null };
  const page = await keysetPage(ctx, {
    limit: input.limit,
    cursor: input.cursor,
    entity: Connection,
    where,
    operation: 'connections.list',
    filters: { spaceId: spaceOf(ctx.caller), serverId: server.id },
    exclude: ['tokens'],
  });
  const members = await membersAmong(
    ctx,
    page.items.map(({ connectedBy }) => connectedBy),
  );
  return {
    ...page,
    items: page.items.map((connection) => ({ connection, isByMember: members.has(connection.connectedBy) })),
  };
}

async function membersAmong({ em, caller }: Context, principalIds: readonly string[]): Promise<Set<string>> {
  const rows = await em.execute<{ principal_id: string }[]>(
    `select m.principal_id from space_members m
     join principals p on p.tenant_id = m.tenant_id and p.id = m.principal_id
     where m.space_id = ? and p.status = 'active'
       and m.principal_id in (select jsonb_array_elements_text(?::jsonb)::uuid)`,
    [spaceOf(caller), JSON.stringify(principalIds)],
  );
  return new Set(rows.map((row) => row.principal_id));
}

function listOf(scope: string | null | undefined): string[] {
  return (scope ?? '').split(' ').filter((each) => each !== '');
}
