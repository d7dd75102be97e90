import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { findServer } from '#domain/capabilities/tools/find-server.ts';
import { connectionEvent } from './attempt-event.ts';
import { authorizeOwner } from './authorize-owner.ts';
import type { WithdrawalReason } from './connection-status.ts';
import { openTokens, sealTokens } from './connection-tokens.ts';
import { Connection } from './connection.entity.ts';
import { replaceAttempts } from './end-attempt.ts';
import { findConnection, ownerFor } from './find-connection.ts';
import { requireMode } from './read-connection.ts';

/**
 * From the commit on the connection is used by nobody, and a refresh under way cannot bring it back. Its tokens stay,
 * sealed, until they are revoked.
 * @returns false when it was withdrawn before
 */
export async function withdraw(em: EntityManager, { id, generation }: Connection): Promise<boolean> {
  const now = await databaseNow(em);
  const withdrawn = await em.nativeUpdate(
    Connection,
    { id, withdrawnAt: null },
    {
      status: 'revoked',
      withdrawnAt: now,
      revokeAt: now,
      generation: generation + 1,
      leaseNonce: null,
      leaseUntil: null,
      updatedAt: now,
    },
  );
  return withdrawn > 0;
}

/** A refresh that commits at the same time is seen, so that its tokens are those that are revoked. */
const locked = { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true } as const;

/**
 * Ends the caller's connection to a server, or the space's shared one, and the attempts to make another one. @returns its
 * id, for the revocation @throws `missing_permission`, `mcp_server_not_found`, `connection_not_found`
 */
export async function disconnect(ctx: Context, { serverId }: { serverId: string }): Promise<string> {
  authorize(ctx.caller, 'tools.execute');
  const { server } = await findServer(ctx, serverId);
  requireMode(server);
  const ownerId = ownerFor(server, ctx.caller.principalId);
  authorizeOwner(ctx.caller, ownerId);
  const connection = await findConnection(ctx.em, { serverId: server.id, ownerId }, { lock: true });
  if (connection === null || !(await withdraw(ctx.em, connection))) {
    throw notFound('connection_not_found');
  }
  await recordWithdrawal(ctx, connection, 'disconnected');
  await replaceAttempts(ctx, { serverId: server.id, ownerId });
  return connection.id;
}

/** Withdraws all connections of a person, in one space or everywhere. */
export async function withdrawOf(
  ctx: Context,
  { ownerId, spaceId }: { ownerId: string; spaceId?: string },
  reason: WithdrawalReason,
): Promise<void> {
  const where = { ownerId, withdrawnAt: null, ...(spaceId === undefined ? {} : { spaceId }) };
  for (const connection of await ctx.em.find(Connection, where, locked)) {
    if (await withdraw(ctx.em, connection)) {
      await recordWithdrawal(ctx, connection, reason);
    }
  }
}

/**
 * Withdraws the connection of a connector, and ends the attempts to make one.
 * @returns its id, for the revocation; null: it has none
 */
export async function withdrawOfConnector(
  ctx: Context,
  connectorId: string,
  reason: WithdrawalReason,
): Promise<string | null> {
  const { em } = ctx;
  await replaceAttempts(ctx, { connectorId });
  const connection = await em.findOne(Connection, { connectorId, withdrawnAt: null }, locked);
  if (connection === null || !(await withdraw(em, connection))) {
    return null;
  }
  await recordWithdrawal(ctx, connection, reason);
  return connection.id;
}

/** Seals the tokens of a person whose key is about to be erased under the tenant's key, for their revocation. */
export async function resealForRevocation(ctx: Context, ownerId: string): Promise<void> {
  for (const connection of await ctx.em.find(Connection, { ownerId, tokens: { $ne: null } }, locked)) {
    const tokens = await openTokens(ctx, connection);
    const { tenantId, id } = connection;
    const sealed = tokens === null ? null : await sealTokens(ctx, { tenantId, id }, tokens);
    await ctx.em.nativeUpdate(Connection, { id }, { tokens: sealed });
  }
}

/**
 * Makes room for a new connection of the same owner. The tokens of the same client at the same authorization server are
 * not revoked: at some servers that would end what was granted just now.
 */
export async function replaceConnection(
  ctx: Context,
  before: Connection,
  by: Pick<Connection, 'issuer' | 'clientId' | 'clientCredentialId'>,
): Promise<void> {
  const isSameGrant =
    before.issuer === by.issuer &&
    (before.clientId ?? null) === (by.clientId ?? null) &&
    (before.clientCredentialId ?? null) === (by.clientCredentialId ?? null);
  if (isSameGrant || before.tokens == null) {
    await ctx.em.nativeDelete(Connection, { id: before.id });
  } else if (await withdraw(ctx.em, before)) {
    await recordWithdrawal(ctx, before, 'replaced');
  }
}

async function recordWithdrawal(
  { em, caller }: Context,
  connection: Connection,
  reason: WithdrawalReason,
): Promise<void> {
  await recordEvent(em, caller, connectionEvent('security.mcp_auth_revoked', connection, reason));
}
