import type { Context } from '#domain/foundation/access/context.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { connectionEvent } from './attempt-event.ts';
import { hashFor, newNonce } from './attempt-secrets.ts';
import { AuthorizationAttempt } from './authorization-attempt.entity.ts';
import type { AuthorizationTarget } from './authorization-servers.ts';
import { callbackUri, type ConnectionSettings } from './connection-parts.ts';
import { replaceAttempts } from './end-attempt.ts';
import { openClient } from './open-client.ts';

const lifetimeMs = 600_000;
/** That one principal may begin at one server or connector while one of them would last. */
const maxAttempts = 20;

/** Whose connection an attempt makes: of a tool server, or of a connector. */
export interface PlannedAttempt {
  tenantId: string;
  spaceId: string;
  serverId: string | null;
  connectorId: string | null;
  clientCredentialId: string | null;
  ownerId: string | null;
  redirectUri: string;
}

/** What the authorization server says, with the client to use there. */
export interface PreparedAuthorization {
  target: AuthorizationTarget;
  scope: string | null;
  clientId: string | null;
}

export interface BegunAttempt {
  /** Opens the popup once. */
  nonce: string;
  expiresAt: Date;
}

/** Each attempt stores a row, and that at a tool server asks two foreign servers. @throws `rate_limited` */
export async function requireFewAttempts(
  { em, caller }: Context,
  holder: { serverId: string } | { connectorId: string },
): Promise<void> {
  const since = new Date((await databaseNow(em)).getTime() - lifetimeMs);
  const begun = { ...holder, initiatorId: caller.principalId, createdAt: { $gt: since } };
  if ((await em.count(AuthorizationAttempt, begun)) >= maxAttempts) {
    throw new DomainError('rate_limited', 'Too many attempts to connect were begun here.', {
      retryAfter: 60,
    });
  }
}

/**
 * Stores an attempt that the caller was authorized for; it ends an earlier one of the same person.
 * @throws `authorization_client_required` for a stored client of another authorization server
 */
export async function insertAttempt(
  ctx: Context,
  settings: ConnectionSettings,
  plan: PlannedAttempt,
  { target, clientId, scope }: PreparedAuthorization,
): Promise<BegunAttempt> {
  const { caller, em, secrets } = ctx;
  const { clientCredentialId, ownerId, spaceId, serverId, connectorId, tenantId } = plan;
  if ((await openClient(ctx, { tenantId, spaceId, clientId, clientCredentialId }, target)) === null) {
    throw new DomainError(
      'authorization_client_required',
      'The stored client belongs to another authorization server than this one: compare its token_url or issuer.',
    );
  }
  await replaceAttempts(ctx, { serverId, connectorId, initiatorId: caller.principalId });
  const nonce = newNonce(secrets);
  const expiresAt = new Date((await databaseNow(em)).getTime() + lifetimeMs);
  const attempt = em.create(AuthorizationAttempt, {
    tenantId,
    id: newId(),
    serverId,
    connectorId,
    spaceId,
    initiatorId: caller.principalId,
    sessionId: caller.sessionId ?? null,
    apiKeyId: caller.apiKeyId,
    ownerId,
    redirectUri: plan.redirectUri,
    callbackUri: callbackUri(settings, target.issuer),
    issuer: target.issuer,
    target,
    scope,
    clientId,
    clientCredentialId,
    nonceHash: hashFor(secrets, 'nonce', nonce),
    expiresAt,
  });
  await em.flush();
  await recordEvent(em, caller, connectionEvent('security.mcp_auth_started', attempt));
  return { nonce, expiresAt };
}
