import type {
  AuthorizationTarget,
  OAuthClient,
} from '#domain/capabilities/connections/authorization-servers.ts';
import { AuthorizationFailure } from '#domain/capabilities/connections/authorization-servers.ts';
import { CredentialFailure } from '#domain/capabilities/credentials/credential-source.ts';
import type { OAuthClientValue } from '#domain/capabilities/credentials/credential-value.ts';
import { clientAuthentication } from '../authorization/client-authentication.ts';
import { issuerMetadata } from '../authorization/issuer-metadata.ts';
import { metadataOf } from '../authorization/server-metadata.ts';
import type { ClientToken } from './client-tokens.ts';

/**
 * Requests a token with the client credentials grant (RFC 6749, 4.4) at the stored token address, or at that of the
 * issuer's metadata. Only the token of the endpoint's answer is passed on.
 * @throws CredentialFailure
 */
export async function requestToken(
  fetch: typeof globalThis.fetch,
  client: OAuthClientValue,
): Promise<ClientToken> {
  const { url, headers, form } = await requestFor(fetch, client);
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(url, { method: 'POST', headers: [...headers], body: form.toString() });
    text = await answer.text();
  } catch {
    throw new CredentialFailure('unreachable');
  }
  if (answer.status >= 500 || answer.status === 429) {
    throw new CredentialFailure('unreachable');
  }
  const token = answer.status === 200 ? tokenIn(text) : null;
  if (token === null) {
    throw new CredentialFailure('refused');
  }
  return token;
}

interface TokenRequest {
  url: string;
  headers: Headers;
  form: URLSearchParams;
}

async function requestFor(fetch: typeof globalThis.fetch, value: OAuthClientValue): Promise<TokenRequest> {
  const headers = new Headers({
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  });
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (value.scope !== undefined) {
    form.set('scope', value.scope);
  }
  try {
    const target = await targetOf(fetch, value);
    const { token_endpoint: url, issuer } = metadataOf(target);
    const known = issuer === undefined ? undefined : metadataOf(target);
    await clientAuthentication(target, clientOf(value))(headers, form, url, known);
    return { url, headers, form };
  } catch (error) {
    const isAway = error instanceof AuthorizationFailure && away.has(error.code);
    throw new CredentialFailure(isAway ? 'unreachable' : 'refused');
  }
}

const away = new Set<AuthorizationFailure['code']>(['unreachable', 'url_not_allowed']);

async function targetOf(
  fetch: typeof globalThis.fetch,
  { issuer, token_url: tokenUrl }: OAuthClientValue,
): Promise<Pick<AuthorizationTarget, 'metadata'>> {
  return {
    metadata: issuer === undefined ? { token_endpoint: tokenUrl } : await issuerMetadata(fetch, issuer),
  };
}

/** Without metadata a secret is sent with basic authentication, which every server reads. */
function clientOf({
  client_id: clientId,
  client_secret: secret,
  private_key: key,
  issuer,
}: OAuthClientValue): OAuthClient {
  return {
    clientId,
    clientSecret: secret ?? null,
    privateKey: key ?? null,
    authMethod: issuer === undefined && secret !== undefined ? 'client_secret_basic' : null,
    secretExpiresAt: null,
  };
}

function tokenIn(text: string): ClientToken | null {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return null;
  }
  const {
    access_token: token,
    token_type: type,
    expires_in: seconds,
  } = (typeof said === 'object' && said !== null ? said : {}) as Record<string, unknown>;
  const isBearer = typeof type === 'string' && type.toLowerCase() === 'bearer';
  return isBearer && typeof token === 'string' && /^[\x21-\x7e]{1,8192}$/.test(token)
    ? { token, expiresInMs: typeof seconds === 'number' && seconds >= 0 ? seconds * 1_000 : null }
    : null;
}
