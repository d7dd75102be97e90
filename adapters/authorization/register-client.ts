import { registerClient, RegistrationRejectedError } from '@modelcontextprotocol/client';
import {
  AuthorizationFailure,
  clientAuthMethods,
  type AuthorizationTarget,
  type ClientAuthMethod,
  type RegisteredClient,
  type Registration,
} from '#domain/capabilities/connections/authorization-servers.ts';
import { isLoopback } from '#domain/foundation/kernel/is-loopback.ts';
import { boundedUnion, requestedScope } from '#domain/capabilities/connections/scopes.ts';
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
  client: Registration,
  wire: Wire,
): Promise<RegisteredClient> {
  const metadata = metadataOf(target);
  if (!target.registersClients) {
    throw new AuthorizationFailure('client_required', { sent: false });
  }
  const supported = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const method = methods.find((each) => supported.includes(each));
  if (method === undefined) {
    throw new AuthorizationFailure('client_required', { sent: false });
  }
  const send = (scope: string | null) =>
    registerClient(target.issuer, {
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
  const requested = requestedScope(target, client.scope);
  const listed = listedScope(target, requested);
  const registered = await send(requested).catch(async (error: unknown) => {
    const isRefused = error instanceof RegistrationRejectedError && error.status === 400;
    if (!isRefused || listed === requested || !client.mayLackScopes) throw error;
    return { ...(await send(listed)), scope: undefined };
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
    scope: limitOf(requested, registered.scope),
  };
}

/**
 * Some servers grant only registered scopes, and list none of a resource; others refuse a registration with a scope that
 * they do not list, and grant those of a resource all the same.
 */
function listedScope(target: AuthorizationTarget, requested: string | null): string | null {
  const { scopes_supported: listed } = metadataOf(target);
  return requested === null || listed === undefined
    ? requested
    : scopeOf(requested.split(' ').filter((each) => listed.includes(each)));
}

/**
 * Scopes in an answer may be a limit. What was requested counts as registered where the answer lacks it: the server would
 * leave it out again.
 */
function limitOf(requested: string | null, answered: string | undefined): string | null {
  return answered === undefined ? null : (boundedUnion(requested, scopeOf(answered.split(' '))) ?? '');
}

/** OpenID Connect Registration: a web application's redirects have https and are not on the person's own machine. */
function isPublic(redirectUri: string): boolean {
  const { protocol, hostname } = new URL(redirectUri);
  return protocol === 'https:' && !isLoopback(hostname);
}

function isMethod(method: string | undefined): method is ClientAuthMethod {
  return clientAuthMethods.some((each) => each === method);
}
