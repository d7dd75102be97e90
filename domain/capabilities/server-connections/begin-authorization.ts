import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { findServer } from '#domain/capabilities/tools/find-server.ts';
import type { ServerChallenge } from '#domain/capabilities/tools/server-status.ts';
import { AuthorizationFailure } from '#domain/capabilities/connections/authorization-servers.ts';
import { authorizeOwner } from '#domain/capabilities/connections/authorize-owner.ts';
import { chooseClient } from '#domain/capabilities/connections/choose-client.ts';
import {
  callbackUri,
  requireRedirect,
  type ConnectionParts,
  type ConnectionSettings,
} from '#domain/capabilities/connections/connection-parts.ts';
import { findConnection, ownerFor } from '#domain/capabilities/connections/find-connection.ts';
import {
  insertAttempt,
  requireFewAttempts,
  type BegunAttempt,
  type PlannedAttempt,
  type PreparedAuthorization,
} from '#domain/capabilities/connections/insert-attempt.ts';
import { requestedScope, unionOf } from '#domain/capabilities/connections/scopes.ts';

export interface BeginAuthorization {
  serverId: string;
  redirectUri: string;
  /** Replaces a registration that the authorization server no longer knows, which only its own page may say. */
  registersAgain: boolean;
}

/** What a connection needs, read before the authorization server is asked. */
export interface AuthorizationPlan extends PlannedAttempt {
  serverId: string;
  url: string;
  challenge: ServerChallenge | null;
  resource: string | null;
  /** Needed by a call that was refused. */
  requiredScope: string | null;
  /** What was granted before, which the same issuer is asked for again; another one need not know it. */
  granted: { issuer: string; scope: string | null } | null;
  registersAgain: boolean;
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
  requireRedirect(settings, redirectUri);
  if (server.connectionMode === 'none') {
    throw new DomainError('invalid_state', 'This tool server is not used with a connection.');
  }
  const ownerId = ownerFor(server, ctx.caller.principalId);
  authorizeOwner(ctx.caller, ownerId);
  if (input.registersAgain) {
    // The registration is that of the whole tenant.
    authorize(ctx.caller, 'mcp_servers.update');
  }
  await requireFewAttempts(ctx, { serverId: server.id });
  const known = await findConnection(ctx.em, { serverId: server.id, ownerId });
  return {
    tenantId: server.tenantId,
    spaceId: server.spaceId,
    serverId: server.id,
    connectorId: null,
    url: server.url,
    challenge: server.challenge ?? null,
    resource: server.connectionResource ?? null,
    clientCredentialId: server.clientCredentialId ?? null,
    ownerId,
    redirectUri,
    requiredScope: known?.requiredScope ?? null,
    granted: known === null ? null : { issuer: known.issuer, scope: known.grantedScope ?? null },
    registersAgain: input.registersAgain,
  };
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
    const granted = plan.granted?.issuer === target.issuer ? plan.granted.scope : null;
    const scope = requestedScope(target, unionOf(target.scope, granted, plan.requiredScope));
    const clientId =
      plan.clientCredentialId === null
        ? await chooseClient(parts, settings, target, { scope, signal, registersAgain })
        : null;
    return { target, clientId, scope };
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
  prepared: PreparedAuthorization,
): Promise<BegunAttempt> {
  authorize(ctx.caller, 'tools.execute');
  const { server } = await findServer(ctx, plan.serverId);
  const { ownerId } = plan;
  authorizeOwner(ctx.caller, ownerId);
  if (ownerFor(server, ctx.caller.principalId) !== ownerId || server.connectionMode === 'none') {
    throw new DomainError('invalid_state', 'The configuration of this tool server was changed.');
  }
  return insertAttempt(ctx, settings, plan, prepared);
}
