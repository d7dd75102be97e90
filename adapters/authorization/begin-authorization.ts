import { computeScopeUnion, startAuthorization } from '@modelcontextprotocol/client';
import {
  AuthorizationFailure,
  type AuthorizationRequest,
  type BegunAuthorization,
} from '#domain/capabilities/connections/authorization-servers.ts';
import { requestedScope } from '#domain/capabilities/connections/scopes.ts';
import type { Dialect } from './dialect.ts';
import { metadataOf } from './server-metadata.ts';

export async function begin(request: AuthorizationRequest, dialect: Dialect): Promise<BegunAuthorization> {
  const { target, client, redirectUri, grantedScope, state } = request;
  const metadata = metadataOf(target);
  // The package takes a list that is missing for a server that knows S256.
  if (metadata.code_challenge_methods_supported?.includes('S256') !== true) {
    throw new AuthorizationFailure('pkce_unsupported', { sent: false });
  }
  if (!metadata.response_types_supported.includes('code')) {
    throw new AuthorizationFailure('protocol_error', { sent: false });
  }
  const union = computeScopeUnion(grantedScope ?? undefined, request.scope ?? undefined);
  const scope = requestedScope(target, union ?? null);
  const { authorizationUrl, codeVerifier } = await startAuthorization(target.issuer, {
    metadata,
    clientInformation: { client_id: client.clientId },
    redirectUrl: redirectUri,
    state,
    ...(scope === null ? {} : { scope }),
    ...(target.resource === null ? {} : { resource: target.resource }),
  });
  for (const [name, value] of Object.entries(target.source?.parameters ?? {})) {
    authorizationUrl.searchParams.set(name, value);
  }
  dialect.authorize?.(authorizationUrl);
  return { url: authorizationUrl.href, codeVerifier, scope };
}
