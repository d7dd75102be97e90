import {
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  DPOP_SUPPORTED_ALGS,
  resourceUrlFromServerUrl,
  type FetchLike,
  type OAuthProtectedResourceMetadata,
} from '@modelcontextprotocol/client';
import {
  AuthorizationFailure,
  type AuthorizationTarget,
  type ProtectedResource,
} from '#domain/capabilities/connections/authorization-servers.ts';
import { scopeOf } from './scope.ts';
import { metadataOf, readMetadata } from './server-metadata.ts';
import type { Wire } from './wire.ts';

/** From a challenge to the validated metadata of the authorization server. */
export async function discoverTarget(resource: ProtectedResource, wire: Wire): Promise<AuthorizationTarget> {
  const { tenantId, url, challenge } = resource;
  const found = await resourceMetadata(resource, wire);
  if (
    found !== null &&
    !checkResourceAllowed({
      requestedResource: resourceUrlFromServerUrl(url),
      configuredResource: found.resource,
    })
  ) {
    throw new AuthorizationFailure('resource_mismatch', { sent: true });
  }
  // Servers of the first revision have no metadata of their own: their root is the authorization server.
  const expected = found?.authorization_servers?.[0] ?? String(new URL('/', url));
  // The package refuses metadata of another issuer. It tolerates a slash at the end of `expected` alone, which leads to
  // the same document.
  const known = await discoverAuthorizationServerMetadata(expected, { fetchFn: withoutPages(wire) });
  if (known === undefined) {
    throw new AuthorizationFailure('not_discovered', { sent: true });
  }
  const metadata = readMetadata(wire.text);
  const {
    client_id_metadata_document_supported: acceptsClientDocuments,
    registration_endpoint: registration,
  } = metadataOf({ metadata });
  const demandsProofs = challenge?.dpop === true || found?.dpop_bound_access_tokens_required === true;
  const algs = [
    found?.dpop_signing_alg_values_supported,
    metadataOf({ metadata }).dpop_signing_alg_values_supported,
  ];
  const scope = challenge?.scope ?? scopeOf(found?.scopes_supported ?? []);
  const target: AuthorizationTarget = {
    tenantId,
    issuer: known.issuer,
    resource: found?.resource ?? null,
    scope,
    dpopAlg: demandsProofs ? dpopAlg(algs) : null,
    acceptsClientDocuments: acceptsClientDocuments === true,
    registersClients: registration !== undefined,
    metadata: withScopesOf(metadata, scope),
  };
  if (JSON.stringify(target).length > maxTarget) {
    throw new AuthorizationFailure('protocol_error', { sent: true });
  }
  return target;
}

/** Stored with each attempt and connection. */
const maxTarget = 16_384;

/** Some servers list hundreds of scopes: those that are asked for are all that is read of them. */
function withScopesOf(metadata: Record<string, unknown>, scope: string | null): Record<string, unknown> {
  const { scopes_supported: listed } = metadata;
  const asked = new Set([...(scope ?? '').split(' '), 'offline_access']);
  return Array.isArray(listed)
    ? { ...metadata, scopes_supported: listed.filter((each) => asked.has(String(each))) }
    : metadata;
}

/** Asks the challenge's address, then those of the path and of the root; null: the resource has no metadata. */
async function resourceMetadata(
  { url, challenge }: ProtectedResource,
  wire: Wire,
): Promise<OAuthProtectedResourceMetadata | null> {
  const addresses = challenge?.metadataUrl == null ? [undefined] : [challenge.metadataUrl, undefined];
  for (const resourceMetadataUrl of addresses) {
    try {
      return await discoverOAuthProtectedResourceMetadata(
        url,
        resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl },
        withoutPages(wire),
      );
    } catch (error) {
      // Only "there is no such document" leads on: another server must not take the place of the named one.
      if (wire.unavailable || wire.status === null || wire.status < 300) {
        throw error;
      }
    }
  }
  return null;
}

/** Servers of web applications answer every path with their page: that is no document. */
function withoutPages(wire: Wire): FetchLike {
  return async (url, init) => {
    const answer = await wire.fetch(url, init);
    if (!answer.ok || !/^text\/html\b/i.test(answer.headers.get('content-type') ?? '')) {
      return answer;
    }
    wire.status = 404;
    return new Response(null, { status: 404 });
  };
}

function dpopAlg(supported: readonly (readonly string[] | undefined)[]): string {
  const alg = DPOP_SUPPORTED_ALGS.find((each) => supported.every((list) => list?.includes(each) ?? true));
  if (alg === undefined) {
    throw new AuthorizationFailure('protocol_error', { sent: true });
  }
  return alg;
}
