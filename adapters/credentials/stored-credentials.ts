import {
  CredentialFailure,
  type CredentialSource,
  type CredentialUse,
  type UsableCredential,
} from '#domain/capabilities/credentials/credential-source.ts';
import type { OpenedCredential } from '#domain/capabilities/credentials/open-credential.ts';
import { boundedFetch, type BoundedFetchOptions } from '../egress/bounded-fetch.ts';
import { ClientTokens } from './client-tokens.ts';
import { requestToken } from './token-endpoint.ts';

export interface StoredCredentialOptions extends BoundedFetchOptions {
  /** Reads and decrypts a credential in its tenant; null where it may not be used there. */
  open: (use: CredentialUse) => Promise<OpenedCredential | null>;
  now?: () => number;
}

/** Resolves stored credentials. Each use reads the row, so a rotation takes effect at the next use. */
export function createStoredCredentials({ open, now, ...egress }: StoredCredentialOptions): CredentialSource {
  const fetch = boundedFetch('token_endpoint', egress);
  const tokens = new ClientTokens(now);
  return {
    read: async (use, retryRead = (read) => read()) => {
      const opened = await retryRead(() => open(use));
      if (opened === null) {
        throw new CredentialFailure('missing');
      }
      const { version, value } = opened;
      switch (value.kind) {
        case 'bearer':
          return bearer(version, value.token);
        case 'header':
          return sent(version, { name: value.name, value: value.value }, [value.value]);
        case 'basic': {
          const pair = Buffer.from(`${value.username}:${value.password}`).toString('base64');
          return sent(version, { name: 'Authorization', value: `Basic ${pair}` }, [
            `Basic ${pair}`,
            value.password,
          ]);
        }
        case 'oauth2_client': {
          const token = await tokens.of(use, version, () => requestToken(fetch, value));
          // A private key never leaves: only the token and a secret can come back in an answer.
          const { client_secret: secret } = value;
          return { ...bearer(version, token), secrets: secret === undefined ? [token] : [token, secret] };
        }
        case 'access_key':
          // An access key signs requests of connectors and is never sent as a header.
          throw new CredentialFailure('missing');
      }
    },
    refused: (identity) => tokens.forget(identity),
  };
}

function bearer(version: number, token: string): UsableCredential {
  return {
    version,
    header: { name: 'Authorization', value: `Bearer ${token}` },
    token,
    secrets: [`Bearer ${token}`],
  };
}

function sent(
  version: number,
  header: UsableCredential['header'],
  secrets: readonly string[],
): UsableCredential {
  return { version, header, token: null, secrets };
}
