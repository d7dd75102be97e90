import type { FastifyRequest } from 'fastify';
import { requestMs } from '#domain/capabilities/connections/authorization-servers.ts';
import {
  planAuthorization,
  prepareAuthorization,
  storeAttempt,
  type BeginAuthorization,
} from '#domain/capabilities/server-connections/begin-authorization.ts';
import {
  claimCode,
  exchangeCode,
  spaceOfHandle,
} from '#domain/capabilities/connections/complete-authorization.ts';
import type { ConnectionSettings } from '#domain/capabilities/connections/connection-parts.ts';
import type { BegunAttempt } from '#domain/capabilities/connections/insert-attempt.ts';
import type { ShownConnection } from '#domain/capabilities/connections/read-connection.ts';
import { saveOrRevoke } from '#domain/capabilities/connections/save-or-revoke.ts';
import { revokeWithdrawn } from '#domain/capabilities/connections/revoke-withdrawn.ts';
import { disconnect } from '#domain/capabilities/connections/withdraw-connections.ts';
import { lockConnectorHolder } from '#domain/knowledge/source-connections/lock-connector.ts';
import { lockReadServer } from '#domain/knowledge/source-connections/lock-read-server.ts';
import { spaceOfServer } from '#domain/capabilities/tools/find-server.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { GatewayDependencies } from './compose.ts';
import { publicUrl } from './rest/v1/sign-in/routes.ts';
import { whileConnected } from './while-connected.ts';

export function connectionSettings({ config }: Pick<GatewayDependencies, 'config'>): ConnectionSettings {
  return {
    apiUrl: `${publicUrl(config)}/api`,
    redirectUris: config.MCP_AUTH_REDIRECT_URIS,
    clientDocumentUrl: config.MCP_CLIENT_DOCUMENT_URL,
  };
}

/** Begins a connection: the authorization server is asked between two transactions. */
export async function initiateConnection(
  deps: GatewayDependencies,
  request: FastifyRequest,
  input: BeginAuthorization,
): Promise<{ popupUrl: string; expiresAt: Date }> {
  const settings = connectionSettings(deps);
  const plan = await request.inContext(
    (em) => spaceOfServer(em, input.serverId),
    (ctx) => planAuthorization(ctx, settings, input),
  );
  const prepared = await inPlace(deps, request, (signal) =>
    prepareAuthorization(deps, settings, plan, signal),
  );
  const begun = await request.inContext(plan.spaceId, (ctx) => storeAttempt(ctx, settings, plan, prepared));
  return popupOf(settings, begun);
}

/** What a client opens for an attempt. */
export function popupOf(
  { apiUrl }: ConnectionSettings,
  { nonce, expiresAt }: BegunAttempt,
): { popupUrl: string; expiresAt: Date } {
  const popupUrl = new URL(`${apiUrl}/v1/mcp-auth/start`);
  popupUrl.searchParams.set('nonce', nonce);
  return { popupUrl: popupUrl.href, expiresAt };
}

/** Completes a connection for the principal that began it. */
export async function completeConnection(
  deps: GatewayDependencies,
  request: FastifyRequest,
  input: { handle: string },
): Promise<ShownConnection> {
  const claimed = await request.inContext(
    (em) => spaceOfHandle({ em, secrets: deps.secrets }, input.handle),
    (ctx) => claimCode(ctx, input),
  );
  // Goes on when the client disconnects: the code is used up, and its tokens would be lost.
  const signal = AbortSignal.timeout(requestMs);
  const tokens = await exchangeCode(deps, claimed, { signal, requestId: request.id });
  const issued = {
    tokens,
    lockHolder: claimed.isOfConnector ? lockConnectorHolder(deps.sources) : lockReadServer,
  };
  return saveOrRevoke(deps, claimed, issued, (save) => request.inContext(claimed.spaceId, save));
}

/** Ends a connection: its tokens are revoked at once where the authorization server answers, else by a later sweep. */
export async function endConnection(
  deps: GatewayDependencies,
  request: FastifyRequest,
  { spaceId, serverId }: { spaceId: string; serverId: string },
): Promise<void> {
  const id = await request.inContext(spaceId, (ctx) => disconnect(ctx, { serverId }));
  await revokeNow(deps, request, id);
}

/** Revokes the tokens of a withdrawn connection; where that fails, a sweep does it later. */
export async function revokeNow(
  deps: GatewayDependencies,
  request: FastifyRequest,
  id: string,
): Promise<void> {
  await revokeWithdrawn(deps, request.identity.tenantId, id).catch((error: unknown) => {
    request.log.error(
      { fault: error instanceof Error ? error.name : 'unknown' },
      'revocation of a connection',
    );
  });
}

const late = Symbol('late');

/** Bounds the requests to authorization servers by number and time, as those to sources. */
async function inPlace<T>(
  { authorizationPlaces }: GatewayDependencies,
  request: FastifyRequest,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { tenantId } = request.identity;
  const result = await whileConnected(request, (left) =>
    authorizationPlaces.run<T | typeof late>(tenantId, left, work, late),
  );
  if (result === late) {
    throw new DomainError('authorization_failed', 'The authorization server has not answered in time.');
  }
  return result;
}
