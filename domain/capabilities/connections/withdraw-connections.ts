import type { EntityManager } from '@mikro-orm/postgresql';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { findServer } from '#domain/capabilities/tools/find-server.ts';
import { connectionEvent } from './attempt-event.ts';
import type { WithdrawalReason } from './connection-status.ts';
import { openTokens, sealTokens } from './connection-tokens.ts';
import { Connection } from './connection.entity.ts';
import { findConnection, ownerFor } from './find-connection.ts';
import { requireMode } from './read-connection.ts';

/**
 * From the commit on the connection is used by nobody, and a refresh under way cannot bring it back. Its tokens stay,
 * sealed, until they are revoked.
 */
export async function withdraw(em: EntityManager, connection: Connection): Promise<void> {
  const now = await databaseNow(em);
  await em.nativeUpdate(
    Connection,
    { id: connection.id },
    {
      status: 'revoked',
      withdrawnAt: now,
      revokeAt: now,
      generation: connection.generation + 1,
      leaseNonce: null,
      leaseUntil: null,
      updatedAt: now,
    },
  );
}

/**
 * Ends the caller's connection to a server, or the space's shared one. @returns its id, for the revocation @throws
 * `missing_permission`, `mcp_server_not_found`, `connection_not_found`
 */
export async function disconnect(ctx: Context, { serverId }: { serverId: string }): Promise<string> {
  authorize(ctx.caller, 'mcp_servers.connect');
  const { server } = await findServer(ctx, serverId);
  requireMode(server);
  const ownerId = ownerFor(server, ctx.caller.principalId);
  const connection = await findConnection(ctx.em, { serverId: server.id, ownerId });
  if (connection === null) {
    throw notFound('connection_not_found');
  }
  await withdraw(ctx.em, connection);
  await recordWithdrawal(ctx, connection, 'disconnected');
  return connection.id;
}

/** Withdraws all connections of a person, in one space or everywhere. */
export async function withdrawOf(
  ctx: Context,
  { ownerId, spaceId }: { ownerId: string; spaceId?: string },
  reason: WithdrawalReason,
): Promise<void> {
  const where = { ownerId, withdrawnAt: null, ...(spaceId === undefined ? {} : { spaceId }) };
  for (const connection of await ctx.em.find(Connection, where)) {
    await withdraw(ctx.em, connection);
    await recordWithdrawal(ctx, connection, reason);
  }
}

/** Seals the tokens of a person whose key is about to be erased under the tenant's key, for their revocation. */
export async function resealForRevocation(ctx: Context, ownerId: string): Promise<void> {
  for (const connection of await ctx.em.find(Connection, { ownerId, tokens: { $ne: null } })) {
    const tokens = await openTokens(ctx, connection);
    const { tenantId, id } = connection;
    const sealed = tokens === null ? null : await sealTokens(ctx, { tenantId, id }, tokens);
    await ctx.em.nativeUpdate(Connection, { id }, { tokens: sealed });
  }
}

async function recordWithdrawal(
  { em, caller }: Context,
  connection: Connection,
  reason: WithdrawalReason,
): Promise<void> {
  await recordEvent(em, caller, connectionEvent('security.mcp_auth_revoked', connection, reason));
}
