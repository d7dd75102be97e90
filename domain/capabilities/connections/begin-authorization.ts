import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { findServer } from '#domain/capabilities/tools/find-server.ts';
import type { ServerChallenge } from '#domain/capabilities/tools/server-status.ts';
import { connectionEvent } from './attempt-event.ts';
import { hashFor, newNonce } from './attempt-secrets.ts';
import { AuthorizationAttempt } from './authorization-attempt.entity.ts';
import { AuthorizationFailure, type AuthorizationTarget } from './authorization-servers.ts';
import { authorizeOwner } from './authorize-owner.ts';
import { chooseClient } from './choose-client.ts';
import { callbackUri, ownPage, type ConnectionParts, type ConnectionSettings } from './connection-parts.ts';
import { failAttempt } from './end-attempt.ts';
import { findConnection, ownerFor } from './find-connection.ts';
import { openClient } from './open-client.ts';
import { requestedScope, unionOf } from './scopes.ts';

const lifetimeMs = 600_000;
/** That one principal may begin at one server while one of them would last. */
const maxAttempts = 20;

export interface BeginAuthorization {
  serverId: string;
  redirectUri: string;
  /** Replaces a registration that the authorization server no longer knows, which only its own page may say. */
  registersAgain: boolean;
}

/** What a connection to a server needs, read before the authorization server is asked. */
export interface AuthorizationPlan {
  tenantId: string;
  spaceId: string;
  serverId: string;
  url: string;
  challenge: ServerChallenge | null;
  resource: string | null;
  clientCredentialId: string | null;
  ownerId: string | null;
  redirectUri: string;
  /** Granted before, or needed by a call that was refused: asked for again. */
  scope: string | null;
  registersAgain: boolean;
}

/** What the authorization server says, with the client to use there. */
export interface PreparedAuthorization {
  target: AuthorizationTarget;
  scope: string | null;
  clientId: string | null;
}

/**
 * @throws `missing_permission`, `mcp_server_not_found`, `redirect_uri_not_allowed`, `invalid_state` for a server that
 *   is not authorized by a connection
 */
export async function planAuthorization(
  ctx: Context,
  settings: ConnectionSettings,
  input: BeginAuthorization,
): Promise<AuthorizationPlan> {
  authorize(ctx.caller, 'tools.execute');
  const { server } = await findServer(ctx, input.serverId);
  const { redirectUri } = input;
  if (redirectUri !== ownPage(settings) && !settings.redirectUris.includes(redirectUri)) {
    throw new DomainError('redirect_uri_not_allowed', 'redirect_uri is not on the list of this platform.', {
      param: 'redirect_uri',
    });
  }
  if (server.connectionMode === 'none') {
    throw new DomainError('invalid_state', 'This tool server is not used with a connection.');
  }
  const ownerId = ownerFor(server, ctx.caller.principalId);
  authorizeOwner(ctx.caller, ownerId);
  if (input.registersAgain) {
    // The registration is that of the whole tenant.
    authorize(ctx.caller, 'mcp_servers.update');
  }
  await requireFewAttempts(ctx, server.id);
  const known = await findConnection(ctx.em, { serverId: server.id, ownerId });
  return {
    tenantId: server.tenantId,
    spaceId: server.spaceId,
    serverId: server.id,
    url: server.url,
    challenge: server.challenge ?? null,
    resource: server.connectionResource ?? null,
    clientCredentialId: server.clientCredentialId ?? null,
    ownerId,
    redirectUri,
    scope: unionOf(known?.grantedScope, known?.requiredScope),
    registersAgain: input.registersAgain,
  };
}

/** Each attempt stores a row and asks two foreign servers. @throws `rate_limited` */
async function requireFewAttempts({ em, caller }: Context, serverId: string): Promise<void> {
  const since = new Date((await databaseNow(em)).getTime() - lifetimeMs);
  const { principalId: initiatorId } = caller;
  if (
    (await em.count(AuthorizationAttempt, { serverId, initiatorId, createdAt: { $gt: since } })) >=
    maxAttempts
  ) {
    throw new DomainError('rate_limited', 'Too many attempts to connect were begun at this tool server.', {
      retryAfter: 60,
    });
  }
}

/**
 * Asks the server and its authorization server, with no transaction open. @throws `authorization_failed`,
 * `authorization_client_required`
 */
export async function prepareAuthorization(
  parts: ConnectionParts,
  settings: ConnectionSettings,
  plan: AuthorizationPlan,
  signal: AbortSignal,
): Promise<PreparedAuthorization> {
  let callback = '';
  try {
    const { tenantId, url, challenge } = plan;
    const found = await parts.authorizationServers.discover({ tenantId, url, challenge }, signal);
    const target = plan.resource === null ? found : { ...found, resource: plan.resource };
    callback = callbackUri(settings, target.issuer);
    const { registersAgain } = plan;
    const clientId =
      plan.clientCredentialId === null
        ? await chooseClient(parts, settings, target, { signal, registersAgain })
        : null;
    return { target, clientId, scope: requestedScope(target, unionOf(target.scope, plan.scope)) };
  } catch (error) {
    throw error instanceof AuthorizationFailure ? refusalOf(error, callback) : error;
  }
}

/** @param callback what a client that is registered by hand names as its redirect address */
function refusalOf({ code }: AuthorizationFailure, callback: string): DomainError {
  return code === 'client_required'
    ? new DomainError(
        'authorization_client_required',
        `The authorization server registers no clients: register one there for ${callback}, store it as a credential and name it as client_credential_id.`,
      )
    : new DomainError('authorization_failed', `The authorization of this tool server cannot begin: ${code}.`);
}

/**
 * Stores the attempt, which ends an earlier one of the same person. @returns its nonce, which opens it once @throws
 * `authorization_client_required` for a stored client of another authorization server
 */
export async function storeAttempt(
  ctx: Context,
  settings: ConnectionSettings,
  plan: AuthorizationPlan,
  { target, clientId, scope }: PreparedAuthorization,
): Promise<{ nonce: string; expiresAt: Date }> {
  authorize(ctx.caller, 'tools.execute');
  const { caller, em, secrets } = ctx;
  const { server } = await findServer(ctx, plan.serverId);
  const { clientCredentialId, ownerId, spaceId, serverId, tenantId } = plan;
  authorizeOwner(caller, ownerId);
  if (ownerFor(server, caller.principalId) !== ownerId || server.connectionMode === 'none') {
    throw new DomainError('invalid_state', 'The configuration of this tool server was changed.');
  }
  if ((await openClient(ctx, { tenantId, spaceId, clientId, clientCredentialId }, target)) === null) {
    throw new DomainError(
      'authorization_client_required',
      'The stored client belongs to another authorization server than that of this tool server.',
    );
  }
  const open = { serverId, initiatorId: caller.principalId, stage: { $ne: 'ended' as const } };
  for (const { id } of await em.find(AuthorizationAttempt, open)) {
    await failAttempt(em, id, { reason: 'replaced', origin: caller.origin });
  }
  const nonce = newNonce(secrets);
  const expiresAt = new Date((await databaseNow(em)).getTime() + lifetimeMs);
  const attempt = em.create(AuthorizationAttempt, {
    tenantId,
    id: newId(),
    serverId,
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
