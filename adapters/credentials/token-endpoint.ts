import { CredentialFailure } from '#domain/capabilities/credentials/credential-source.ts';
import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import { basicAuthorization } from '../egress/basic-authorization.ts';
import type { ClientToken } from './client-tokens.ts';

type Client = Extract<CredentialValue, { kind: 'oauth2_client' }>;

/**
 * Requests a token with the client credentials grant (RFC 6749, 4.4) and basic authentication. Only the token of the
 * endpoint's answer is passed on.
 * @throws CredentialFailure
 */
export async function requestToken(fetch: typeof globalThis.fetch, client: Client): Promise<ClientToken> {
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (client.scope !== undefined) {
    form.set('scope', client.scope);
  }
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(client.token_url, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        authorization: basicAuthorization(client.client_id, client.client_secret),
      },
      body: form.toString(),
    });
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
