import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { Principal } from '#domain/identity/principals/principal.entity.ts';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import { McpServer } from '#domain/capabilities/tools/mcp-server.entity.ts';
import { connectionEvent } from './attempt-event.ts';
import { AuthorizationFailure, type Grant, type RevocableToken } from './authorization-servers.ts';
import type { FieldWork } from '#domain/foundation/secrets/field-place.ts';
import type { SourceParts } from './connection-parts.ts';
import type { WithdrawalReason } from './connection-status.ts';
import { openTokens } from './connection-tokens.ts';
import { Connection } from './connection.entity.ts';
import { openClient } from './open-client.ts';
import { revocationMs } from './revoke-issued.ts';
import { withdraw } from './withdraw-connections.ts';

const maxTries = 8;
const retryMs = 60_000;

/**
 * Revokes the tokens of a connection that has ended at their authorization server, and erases them. One whose server,
 * mode or person is gone ends here. Safe to repeat: the row goes when its tokens are revoked, or cannot be.
 * @param silent issuers that did not answer in this round: their connections wait for the next one
 * @returns whether that changed anything
 */
export async function revokeWithdrawn(
  parts: SourceParts,
  tenantId: string,
  id: string,
  silent: Set<string> = new Set(),
): Promise<boolean> {
  const ending = await parts.unitOfWork.inTenant(tenantId, (em) =>
    claimRevocation(em, parts, { id, silent }),
  );
  if (ending === null) {
    return false;
  }
  const { grant, tokens, tries } = ending;
  const outcome = grant === null ? 'not_revocable' : await revokeAll(parts, grant, { tokens, silent });
  const isDone = outcome === 'revoked' || outcome === 'not_revocable';
  if (isDone || tries >= maxTries) {
    await parts.unitOfWork.inTenant(tenantId, (em) =>
      em.nativeDelete(Connection, { id, withdrawnAt: { $ne: null } }),
    );
  }
  return true;
}

/**
 * Of all tokens of a connection. `not_revocable`: the authorization server revokes none of them. `refused`: it refused
 * to revoke at least one of them. `unreachable`: it did not answer, and was asked no further.
 */
export type RevocationOutcome = 'revoked' | 'not_revocable' | 'refused' | 'unreachable';

/**
 * Revokes each token: an authorization server may revoke those of one kind only.
 * @param silent gets the issuer if it does not answer
 */
export async function revokeAll(
  { authorizationServers }: SourceParts,
  grant: Grant,
  { tokens, silent }: { tokens: readonly RevocableToken[]; silent: Set<string> },
): Promise<RevocationOutcome> {
  let outcome: RevocationOutcome = 'not_revocable';
  for (const token of tokens) {
    try {
      const isRevoked = await authorizationServers.revoke(grant, token, AbortSignal.timeout(revocationMs));
      outcome = isRevoked && outcome === 'not_revocable' ? 'revoked' : outcome;
    } catch (error) {
      if (error instanceof AuthorizationFailure && error.code === 'unreachable') {
        silent.add(grant.target.issuer);
        return 'unreachable';
      }
      outcome = 'refused';
    }
  }
  return outcome;
}

/** What a revocation sends. */
export interface Revocable {
  /** null: the client is gone, and nobody can revoke the tokens. */
  grant: Grant | null;
  /** The refresh token first: with it, an authorization server ends the whole grant. */
  tokens: RevocableToken[];
}

export async function openRevocable(work: FieldWork, connection: Connection): Promise<Revocable> {
  const client = await openClient(work, connection, connection.target);
  const opened = await openTokens(work, connection);
  const tokens: RevocableToken[] =
    opened === null
      ? []
      : [
          ...(opened.refreshToken === null
            ? []
            : [{ token: opened.refreshToken, kind: 'refresh_token' as const }]),
          { token: opened.accessToken, kind: 'access_token' },
        ];
  const grant =
    client === null ? null : { target: connection.target, client, dpopKey: opened?.dpopKey ?? null };
  return { grant, tokens };
}

interface Ending extends Revocable {
  tries: number;
}

/** Takes the next try, so that a concurrent round leaves it alone. */
async function claimRevocation(
  em: EntityManager,
  parts: SourceParts,
  { id, silent }: { id: string; silent: ReadonlySet<string> },
): Promise<Ending | null> {
  const connection = await em.findOne(Connection, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  const now = await databaseNow(em);
  if (connection === null || (connection.revokeAt != null && connection.revokeAt > now)) {
    return null;
  }
  if (connection.withdrawnAt != null && silent.has(connection.issuer)) {
    return null;
  }
  if (connection.withdrawnAt == null) {
    const reason = await endOf(em, connection);
    if (reason === null) {
      return null;
    }
    await withdraw(em, connection);
    await record(em, connection, reason);
  }
  const tries = connection.revocations + 1;
  await em.nativeUpdate(
    Connection,
    { id },
    { revocations: tries, revokeAt: new Date(now.getTime() + retryMs * tries) },
  );
  const { grant, tokens } = await openRevocable({ em, secrets: parts.secrets }, connection);
  return { grant, tokens, tries };
}

async function endOf(em: EntityManager, connection: Connection): Promise<WithdrawalReason | null> {
  if (connection.connectorId != null) {
    // What ends the connection of a connector withdraws it in the same transaction.
    return null;
  }
  const server =
    connection.serverId == null ? null : await em.findOne(McpServer, { id: connection.serverId });
  if (server === null) {
    return connection.target.source === undefined ? 'server_removed' : 'connector_deleted';
  }
  if (server.connectionMode !== (connection.ownerId == null ? 'shared' : 'personal')) {
    return 'mode_changed';
  }
  const owner = connection.ownerId == null ? null : await em.findOne(Principal, { id: connection.ownerId });
  return owner !== null && owner.status !== 'active' ? 'principal_disabled' : null;
}

async function record(em: EntityManager, connection: Connection, reason: WithdrawalReason): Promise<void> {
  const { tenantId, connectedBy: principalId } = connection;
  const actor = await rebuildActor(em, { tenantId, principalId });
  const event = connectionEvent('security.mcp_auth_revoked', connection, reason);
  await recordEvent(em, { ...actor, origin: { via: 'schedule', requestId: null } }, event);
}
