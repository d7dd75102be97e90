import * as oauth from 'openid-client';
import type { Grant, RevocableToken } from '#domain/capabilities/connections/authorization-servers.ts';
import { clientAuthentication } from './client-authentication.ts';
import { metadataOf } from './server-metadata.ts';
import type { Wire } from './wire.ts';

/** RFC 7009. @returns false if the server does not revoke tokens of that kind */
export async function revokeToken(
  { target, client }: Grant,
  { token, kind }: RevocableToken,
  wire: Wire,
): Promise<boolean> {
  const metadata = metadataOf(target);
  const { revocation_endpoint: endpoint } = metadata;
  if (endpoint === undefined) {
    return false;
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
    if (error instanceof oauth.ResponseBodyError && error.error === 'unsupported_token_type') {
      return false;
    }
    throw error;
  }
}
