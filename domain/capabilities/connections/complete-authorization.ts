import type { EntityManager } from '@mikro-orm/postgresql';
import type { Caller } from '#domain/foundation/access/caller.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError, notFound } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { openField } from '#domain/foundation/secrets/open-fields.ts';
import { connectionEvent } from './attempt-event.ts';
import { hashFor } from './attempt-secrets.ts';
import { AuthorizationAttempt, attemptPlace } from './authorization-attempt.entity.ts';
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
import { findConnection, type ConnectionKey } from './find-connection.ts';
import { noAttempt } from './locate-attempt.ts';
import { openClient } from './open-client.ts';
import { shownConnection, type ConnectionHolder, type ShownConnection } from './read-connection.ts';
import { lifetimeOf, type TokenLifetime } from './token-lifetime.ts';
import { replaceConnection } from './withdraw-connections.ts';

/** A code that the initiator has claimed; no other request can. */
export interface ClaimedCode {
  attemptId: string;
  /** Of the connection that its tokens make. */
  connectionId: string;
  tenantId: string;
  spaceId: string;
  /** Whether the tokens are for a connector, not for a tool server. */
  isOfConnector: boolean;
  clientId: string | null;
  grant: Grant;
  code: AuthorizationCode;
}

/** Tokens with the key that they are bound to. */
export type NewTokens = IssuedTokens & Pick<Grant, 'dpopKey'> & { lifetime: TokenLifetime };

/** For which a database that is unavailable delays what stores the tokens. */
export const savingMs = 15_000;

/** The tool server or connector of an attempt, locked while its tokens are stored. */
export interface LockedHolder {
  shown: ConnectionHolder;
  /** null: it takes the tokens of this attempt no more. */
  key: ConnectionKey | null;
  /** Begins what waits for the tokens, in their transaction. */
  connected(): Promise<void>;
}

/** Locks the holder for a caller who may connect it. @throws `missing_permission`, and that it is not found */
export type LockHolder = (ctx: Context, attempt: AuthorizationAttempt) => Promise<LockedHolder>;

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
  const handleHash = hashFor(secrets, 'handle', handle);
  const now = await databaseNow(em);
  const attempt = await em.findOne(AuthorizationAttempt, {
    handleHash,
    stage: 'returned',
    handleExpiresAt: { $gt: now },
  });
  if (attempt === null || attempt.spaceId !== caller.spaceId) {
    throw noAttempt();
  }
  // What it needs depends on what it is for: nothing is refused before that is known.
  authorize(caller, attempt.connectorId == null ? 'tools.execute' : 'connectors.update');
  if (!isInitiator(caller, attempt)) {
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
    isOfConnector: attempt.connectorId != null,
    clientId: attempt.clientId ?? null,
    grant: { target, client, dpopKey: null },
    code: { code, codeVerifier, redirectUri, iss: attempt.codeIssuer ?? null },
  };
}

function isInitiator(caller: Caller, attempt: AuthorizationAttempt): boolean {
  return (
    attempt.initiatorId === caller.principalId &&
    (attempt.sessionId ?? null) === (caller.sessionId ?? null) &&
    (attempt.apiKeyId ?? null) === caller.apiKeyId
  );
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
 * Stores the tokens, in place of those of an earlier connection, and begins what waits for them.
 * @throws `authorization_attempt_not_found`, `space_not_found`, and the refusals of `lockHolder`
 */
export async function saveConnection(
  ctx: Context,
  claimed: ClaimedCode,
  { tokens, lockHolder }: { tokens: NewTokens; lockHolder: LockHolder },
): Promise<ShownConnection> {
  const { caller, em } = ctx;
  const attempt = await em.findOne(AuthorizationAttempt, { id: claimed.attemptId });
  if (attempt === null) {
    throw noAttempt();
  }
  const { tenantId, spaceId, target } = attempt;
  const ownerId = attempt.ownerId ?? null;
  await requireSpace(em, spaceId);
  const holder = await lockHolder(ctx, attempt);
  const stored = await em.findOne(Connection, { id: claimed.connectionId });
  if (stored !== null) {
    // The answer to an earlier commit was lost.
    return shownConnection(holder.shown, stored, null);
  }
  if (attempt.stage !== 'exchanging' || holder.key === null) {
    throw noAttempt();
  }
  const before = await findConnection(em, holder.key, { lock: true });
  if (before !== null) {
    await replaceConnection(ctx, before, attempt);
  }
  const id = claimed.connectionId;
  const now = await databaseNow(em);
  const connection = em.create(Connection, {
    tenantId,
    id,
    serverId: attempt.serverId ?? null,
    connectorId: attempt.connectorId ?? null,
    spaceId,
    ownerId,
    connectedBy: caller.principalId,
    status: 'connected',
    issuer: target.issuer,
    resource: target.source?.origin ?? target.resource,
    requestedScope: attempt.scope ?? null,
    grantedScope: tokens.scope ?? attempt.scope ?? null,
    target,
    clientId: attempt.clientId ?? null,
    clientCredentialId: attempt.clientCredentialId ?? null,
    tokens: await sealTokens(ctx, { tenantId, id, ownerId }, tokens),
    expiresAt: tokens.lifetime.expiresAt(now),
    tokenLifetime: tokens.lifetime.seconds,
    // Behind the lock of its holder: what began before has not used it.
    createdAt: now,
  });
  await em.flush();
  if (!(await closeAttempt(em, attempt.id))) {
    throw noAttempt();
  }
  await recordEvent(em, caller, connectionEvent('security.mcp_auth_granted', attempt));
  await holder.connected();
  return shownConnection(holder.shown, connection, null);
}

/** A deletion that has committed refuses the connection; a deletion that waits finds and withdraws it. */
async function requireSpace(em: EntityManager, id: string): Promise<void> {
  const living = await em.execute('select from spaces where id = ? for share', [id]);
  if (living.length === 0) {
    throw notFound('space_not_found');
  }
}
