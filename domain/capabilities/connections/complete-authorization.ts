import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { openField } from '#domain/foundation/secrets/open-fields.ts';
import { enqueueDiscovery } from '#domain/capabilities/tools/enqueue-discovery.ts';
import { lockServer } from '#domain/capabilities/tools/find-server.ts';
import { connectionEvent } from './attempt-event.ts';
import { hashFor } from './attempt-secrets.ts';
import { AuthorizationAttempt, attemptPlace } from './authorization-attempt.entity.ts';
import { authorizeOwner } from './authorize-owner.ts';
import {
  AuthorizationFailure,
  requestMs,
  type AuthorizationCode,
  type Grant,
  type IssuedTokens,
} from './authorization-servers.ts';
import { rejectClient } from './choose-client.ts';
import type { ConnectionParts } from './connection-parts.ts';
import { sealTokens } from './connection-tokens.ts';
import { Connection } from './connection.entity.ts';
import { closeAttempt, failAttempt, reasonOf } from './end-attempt.ts';
import { findConnection, ownerFor } from './find-connection.ts';
import { noAttempt } from './locate-attempt.ts';
import { openClient } from './open-client.ts';
import { shownConnection, type ShownConnection } from './read-connection.ts';
import { lifetimeOf, type TokenLifetime } from './token-lifetime.ts';
import { replaceConnection } from './withdraw-connections.ts';

/** A code that the initiator has claimed; no other request can. */
export interface ClaimedCode {
  attemptId: string;
  /** Of the connection that its tokens make. */
  connectionId: string;
  tenantId: string;
  spaceId: string;
  clientId: string | null;
  grant: Grant;
  code: AuthorizationCode;
}

/** Tokens with the key that they are bound to. */
export type NewTokens = IssuedTokens & Pick<Grant, 'dpopKey'> & { lifetime: TokenLifetime };

/** For which a database that is unavailable delays what stores the tokens. */
export const savingMs = 15_000;

/** Longer than the exchange, and the retries of what stores its tokens. */
const exchangeMs = requestMs + 3 * savingMs;

/** The space of the attempt that a handle belongs to. @throws `authorization_attempt_not_found` */
export async function spaceOfHandle(
  { em, secrets }: Pick<Context, 'em' | 'secrets'>,
  handle: string,
): Promise<string> {
  const handleHash = hashFor(secrets, 'handle', handle);
  const attempt = await em.findOne(AuthorizationAttempt, { handleHash });
  if (attempt === null) {
    throw noAttempt();
  }
  return attempt.spaceId;
}

/**
 * Claims the code of an attempt for the principal that began it, with the same session or key: another person's account
 * is connected to nobody.
 * @throws `authorization_attempt_not_found`, `missing_permission`
 */
export async function claimCode(ctx: Context, { handle }: { handle: string }): Promise<ClaimedCode> {
  const { caller, em, secrets } = ctx;
  authorize(caller, 'tools.execute');
  const handleHash = hashFor(secrets, 'handle', handle);
  const now = await databaseNow(em);
  const attempt = await em.findOne(AuthorizationAttempt, {
    handleHash,
    stage: 'returned',
    initiatorId: caller.principalId,
    sessionId: caller.sessionId ?? null,
    apiKeyId: caller.apiKeyId,
    handleExpiresAt: { $gt: now },
  });
  if (attempt === null || attempt.spaceId !== caller.spaceId) {
    throw noAttempt();
  }
  const client = await openClient(ctx, attempt, attempt.target);
  const code = await openField(ctx, attemptPlace(attempt, 'code'), attempt.code ?? '');
  const codeVerifier = await openField(ctx, attemptPlace(attempt, 'verifier'), attempt.verifier ?? '');
  const taken = await em.nativeUpdate(
    AuthorizationAttempt,
    { id: attempt.id, handleHash, stage: 'returned' },
    {
      stage: 'exchanging',
      handleHash: null,
      expiresAt: new Date(Math.max(attempt.expiresAt.getTime(), now.getTime() + exchangeMs)),
    },
  );
  if (taken === 0 || client === null || code === null || codeVerifier === null) {
    throw noAttempt();
  }
  const { id: attemptId, tenantId, spaceId, target, callbackUri: redirectUri } = attempt;
  return {
    attemptId,
    connectionId: newId(),
    tenantId,
    spaceId,
    clientId: attempt.clientId ?? null,
    grant: { target, client, dpopKey: null },
    code: { code, codeVerifier, redirectUri, iss: attempt.codeIssuer ?? null },
  };
}

/** Exchanges the code, with no transaction open; a failure ends the attempt. @throws `authorization_failed` */
export async function exchangeCode(
  parts: ConnectionParts,
  claimed: ClaimedCode,
  { signal, requestId }: { signal: AbortSignal; requestId: string },
): Promise<NewTokens> {
  try {
    const dpopKey = await parts.authorizationServers.createDpopKey(claimed.grant.target);
    const grant = { ...claimed.grant, dpopKey };
    const issued = await parts.authorizationServers.exchange(grant, claimed.code, signal);
    return { ...issued, dpopKey, lifetime: lifetimeOf(issued) };
  } catch (error) {
    if (!(error instanceof AuthorizationFailure)) {
      throw error;
    }
    const { tenantId, attemptId } = claimed;
    const reason = reasonOf(error.code);
    await parts.unitOfWork.inTenant(tenantId, (em) =>
      failAttempt(em, attemptId, { reason, origin: { via: 'api', requestId } }),
    );
    if (error.code === 'client_rejected') {
      await rejectClient(parts, claimed);
    }
    throw new DomainError('authorization_failed', `The authorization server issued no token: ${error.code}.`);
  }
}

/**
 * Stores the tokens, in place of those of an earlier connection, and has the server's tools discovered with them.
 * @throws `authorization_attempt_not_found`, `missing_permission`, `mcp_server_not_found`
 */
export async function saveConnection(
  ctx: Context,
  claimed: ClaimedCode,
  tokens: NewTokens,
): Promise<ShownConnection> {
  const { caller, em } = ctx;
  authorize(caller, 'tools.execute');
  const attempt = await em.findOne(AuthorizationAttempt, { id: claimed.attemptId });
  if (attempt === null) {
    throw noAttempt();
  }
  const { tenantId, serverId, spaceId, target } = attempt;
  const ownerId = attempt.ownerId ?? null;
  authorizeOwner(caller, ownerId);
  const { server } = await lockServer(ctx, serverId);
  const stored = await em.findOne(Connection, { id: claimed.connectionId });
  if (stored !== null) {
    // The answer to an earlier commit was lost.
    return shownConnection(server, stored, null);
  }
  if (attempt.stage !== 'exchanging' || ownerFor(server, caller.principalId) !== ownerId) {
    throw noAttempt();
  }
  const before = await findConnection(em, { serverId, ownerId }, { lock: true });
  if (before !== null) {
    await replaceConnection(ctx, before, attempt);
  }
  const id = claimed.connectionId;
  const connection = em.create(Connection, {
    tenantId,
    id,
    serverId,
    spaceId,
    ownerId,
    connectedBy: caller.principalId,
    status: 'connected',
    issuer: target.issuer,
    resource: target.resource,
    requestedScope: attempt.scope ?? null,
    grantedScope: tokens.scope ?? attempt.scope ?? null,
    target,
    clientId: attempt.clientId ?? null,
    clientCredentialId: attempt.clientCredentialId ?? null,
    tokens: await sealTokens(ctx, { tenantId, id, ownerId }, tokens),
    expiresAt: tokens.lifetime.expiresAt(await databaseNow(em)),
    tokenLifetime: tokens.lifetime.seconds,
  });
  await em.flush();
  if (!(await closeAttempt(em, attempt.id))) {
    throw noAttempt();
  }
  // What a personal server offers is read with the first account; each later one is listed for its owner alone.
  await enqueueDiscovery(ctx, server, { accountOnly: ownerId !== null && server.status === 'connected' });
  await recordEvent(em, caller, connectionEvent('security.mcp_auth_granted', attempt));
  return shownConnection(server, connection, null);
}
