import * as oauth from 'openid-client';
import type { Grant, RevocableToken } from '#domain/capabilities/connections/authorization-servers.ts';
import { clientAuthentication } from './client-authentication.ts';
import { objectIn, type Dialect } from './dialect.ts';
import { metadataOf } from './server-metadata.ts';
import type { Wire } from './wire.ts';

/** The second: a token that is no longer good, which the standard answers with 200. */
const notRevocable = new Set(['unsupported_token_type', 'invalid_token']);

interface Request {
  grant: Grant;
  wire: Wire;
  dialect: Dialect;
}

/** RFC 7009, or the dialect's own way. @returns false if the server does not revoke tokens of that kind */
export async function revokeToken(request: Request, revocable: RevocableToken): Promise<boolean> {
  const { grant, wire, dialect } = request;
  const { target, client } = grant;
  const { token, kind } = revocable;
  const metadata = metadataOf(target);
  const { revocation_endpoint: endpoint } = metadata;
  if (endpoint === undefined) {
    return false;
  }
  if (dialect.revoke !== undefined) {
    return revokeIn(request, endpoint, revocable);
  }
  const headers = new Headers();
  const params = new URLSearchParams();
  await clientAuthentication(target, client)(headers, params, endpoint, metadata);
  const config = new oauth.Configuration(
    { issuer: target.issuer, revocation_endpoint: endpoint },
    client.clientId,
    {},
    (_server, _client, body, sent) => {
      params.forEach((value, name) => body.set(name, value));
      headers.forEach((value, name) => sent.set(name, value));
    },
  );
  config[oauth.customFetch] = wire.fetch as oauth.CustomFetch;
  if (endpoint.startsWith('http:')) {
    oauth.allowInsecureRequests(config);
  }
  try {
    await oauth.tokenRevocation(config, token, { token_type_hint: kind });
    return true;
  } catch (error) {
    if (error instanceof oauth.ResponseBodyError && notRevocable.has(error.error)) {
      return false;
    }
    throw error;
  }
}

async function revokeIn(
  { grant, wire, dialect }: Request,
  endpoint: string,
  token: RevocableToken,
): Promise<boolean> {
  const request = dialect.revoke?.(endpoint, grant, token) ?? null;
  if (request === null) {
    return false;
  }
  const response = await wire.fetch(request.url, request.init);
  const body = objectIn(await response.text()) ?? {};
  if (dialect.isRevoked?.(response.status, body) ?? response.ok) {
    return true;
  }
  throw new Error('The server did not revoke the token.');
}
