import { registerClient } from '@modelcontextprotocol/client';
import {
  AuthorizationFailure,
  clientAuthMethods,
  type AuthorizationTarget,
  type ClientAuthMethod,
  type ClientMetadata,
  type OAuthClient,
} from '#domain/capabilities/connections/authorization-servers.ts';
import { isLoopback } from '#domain/foundation/kernel/is-loopback.ts';
import { requestedScope } from '#domain/capabilities/connections/scopes.ts';
import { scopeOf } from './scope.ts';
import { metadataOf } from './server-metadata.ts';
import type { Wire } from './wire.ts';

/**
 * Methods of a registration, in the order of preference. Servers of the protocol's Python package announce the first two,
 * and read basic authentication only where the form names the client, too.
 */
const methods = ['client_secret_post', 'client_secret_basic', 'none'] as const;

export async function register(
  target: AuthorizationTarget,
  client: ClientMetadata,
  wire: Wire,
): Promise<OAuthClient> {
  const metadata = metadataOf(target);
  if (!target.registersClients) {
    throw new AuthorizationFailure('client_required', { sent: false });
  }
  const supported = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const method = methods.find((each) => supported.includes(each));
  if (method === undefined) {
    throw new AuthorizationFailure('client_required', { sent: false });
  }
  const scope = registeredScope(target, client.scope);
  const registered = await registerClient(target.issuer, {
    metadata,
    clientMetadata: {
      client_name: client.clientName,
      client_uri: client.clientUri,
      redirect_uris: client.redirectUris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: method,
      application_type: client.redirectUris.every(isPublic) ? 'web' : 'native',
    },
    ...(scope === null ? {} : { scope }),
    fetchFn: wire.fetch,
  });
  const expiresAt = registered.client_secret_expires_at ?? 0;
  return {
    clientId: registered.client_id,
    clientSecret: registered.client_secret ?? null,
    privateKey: null,
    authMethod: isMethod(registered.token_endpoint_auth_method)
      ? registered.token_endpoint_auth_method
      : null,
    secretExpiresAt: expiresAt === 0 ? null : new Date(expiresAt * 1_000),
  };
}

/**
 * Some servers grant only registered scopes, others refuse a registration with a scope that they do not list: those of
 * the resource need not be among the listed ones.
 */
function registeredScope(target: AuthorizationTarget, scope: string | null): string | null {
  const requested = requestedScope(target, scope);
  const { scopes_supported: supported } = metadataOf(target);
  return requested === null || supported === undefined
    ? requested
    : scopeOf(requested.split(' ').filter((each) => supported.includes(each)));
}

/** OpenID Connect Registration: a web application's redirects have https and are not on the person's own machine. */
function isPublic(redirectUri: string): boolean {
  const { protocol, hostname } = new URL(redirectUri);
  return protocol === 'https:' && !isLoopback(hostname);
}

function isMethod(method: string | undefined): method is ClientAuthMethod {
  return clientAuthMethods.some((each) => each === method);
}
