import { decodeJwt, errors as joseErrors, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import * as oidc from 'openid-client';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { idTokenInvalid } from '#domain/identity/sign-in/check-id-token.ts';
import type { IdTokenClaims, OidcClient, ProviderConnection } from '#domain/identity/sign-in/oidc-client.ts';
import type { BoundedFetchOptions } from '../egress/bounded-fetch.ts';
import { KeySets } from './key-sets.ts';
import { ProviderAway, providerFetch } from './provider-fetch.ts';

const keptMs = 600_000;
const keptProviders = 1_000;
const clockToleranceSeconds = 5;
const maxTokenAgeSeconds = 300;
const maxNonceLength = 200;

/** Tenants configure the providers, so requests to them pass the guarded fetch. */
export function createOidcClient(options: BoundedFetchOptions): OidcClient {
  const bounded = providerFetch(options);
  const keySets = new KeySets(bounded);
  const discovered = new LRUCache<string, Promise<oidc.ServerMetadata>>({ max: keptProviders, ttl: keptMs });

  /** A new configuration for each use, from shared metadata. */
  async function configure(provider: ProviderConnection): Promise<oidc.Configuration> {
    const metadata = await metadataOf(provider);
    const config = new oidc.Configuration(
      metadata,
      provider.clientId,
      { id_token_signed_response_alg: provider.signingAlg, [oidc.clockTolerance]: clockToleranceSeconds },
      clientAuthentication(provider, metadata),
    );
    config[oidc.customFetch] = bounded as oidc.CustomFetch;
    if (isPlain(provider.issuer)) {
      oidc.allowInsecureRequests(config);
    }
    return config;
  }

  async function metadataOf({ issuer, clientId }: ProviderConnection): Promise<oidc.ServerMetadata> {
    const known = discovered.get(issuer);
    if (known !== undefined) {
      return known;
    }
    const asked = discover(issuer, clientId, bounded);
    discovered.set(issuer, asked);
    asked.catch(() => discovered.delete(issuer));
    return asked;
  }

  return {
    async authorizationUrl(provider, { redirectUri, state, nonce, codeVerifier }) {
      const challenge = await oidc.calculatePKCECodeChallenge(codeVerifier);
      const url = await reached(async () =>
        oidc.buildAuthorizationUrl(await configure(provider), {
          redirect_uri: redirectUri,
          response_type: 'code',
          scope: 'openid profile email',
          state,
          nonce,
          code_challenge: challenge,
          code_challenge_method: 'S256',
        }),
      );
      return url.href;
    },

    async exchangeCode(provider, { callbackUrl, state, nonce, codeVerifier }) {
      const config = await reached(() => configure(provider));
      const tokens = await mapProviderErrors(() =>
        // The library leaves signature, age and more unchecked: both sign-in paths call `verify` afterwards.
        oidc.authorizationCodeGrant(config, new URL(callbackUrl), {
          expectedState: state,
          pkceCodeVerifier: codeVerifier,
          expectedNonce: nonce,
          idTokenExpected: true,
        }),
      );
      if (tokens.id_token === undefined) {
        throw idTokenInvalid();
      }
      return { idToken: tokens.id_token, accessToken: tokens.access_token };
    },

    async verify(provider, idToken, tokenSource) {
      const { jwks_uri: address } = await reached(() => metadataOf(provider));
      if (address === undefined) {
        throw unavailable();
      }
      const { payload, protectedHeader } = await mapProviderErrors(() =>
        jwtVerify(idToken, keySets.of({ issuer: provider.issuer, address }, tokenSource), {
          algorithms: [provider.signingAlg],
          issuer: provider.issuer,
          audience: provider.clientId,
          requiredClaims: ['exp', 'iat', 'sub', 'nonce'],
          maxTokenAge: maxTokenAgeSeconds,
          clockTolerance: clockToleranceSeconds,
        }),
      );
      if (typeof payload.sub !== 'string' || typeof payload['nonce'] !== 'string') {
        throw idTokenInvalid();
      }
      return {
        alg: protectedHeader.alg,
        typ: protectedHeader.typ ?? null,
        claims: payload as unknown as IdTokenClaims,
      };
    },

    peekNonce(idToken) {
      try {
        const { nonce } = decodeJwt(idToken);
        return typeof nonce === 'string' && nonce.length <= maxNonceLength ? nonce : null;
      } catch {
        return null;
      }
    },
  };
}

async function discover(
  issuer: string,
  clientId: string,
  fetch: typeof globalThis.fetch,
): Promise<oidc.ServerMetadata> {
  const config = await oidc.discovery(new URL(issuer), clientId, undefined, oidc.None(), {
    [oidc.customFetch]: fetch as oidc.CustomFetch,
    execute: isPlain(issuer) ? [oidc.allowInsecureRequests] : [],
  });
  const metadata = config.serverMetadata();
  // The library compares URLs; a token's issuer is compared as text.
  if (metadata.issuer !== issuer || !endpoints.every((name) => isEndpoint(metadata[name], issuer))) {
    throw unavailable();
  }
  return metadata;
}

/** Addresses to which browsers are redirected or requests are sent; a provider may lack some of them. */
const endpoints = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const;

/** An http(s) URL with at least the issuer's protection: `javascript:`, `file:` and `data:` URLs are refused. */
function isEndpoint(address: string | undefined, issuer: string): boolean {
  const protocol = address === undefined ? 'https:' : URL.parse(address)?.protocol;
  return protocol === 'https:' || (protocol === 'http:' && isPlain(issuer));
}

/** Only origins that the operator lists are reached without TLS: the guarded fetch refuses all others. */
function isPlain(issuer: string): boolean {
  return issuer.startsWith('http:');
}

function clientAuthentication(
  { clientSecret }: ProviderConnection,
  metadata: oidc.ServerMetadata,
): oidc.ClientAuth {
  if (clientSecret === null) {
    return oidc.None();
  }
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  return methods.includes('client_secret_basic')
    ? oidc.ClientSecretBasic(clientSecret)
    : oidc.ClientSecretPost(clientSecret);
}

function unavailable(cause?: unknown): DomainError {
  return new DomainError(
    'identity_provider_unavailable',
    'The identity provider cannot be reached, or does not describe itself as it should.',
    {},
    { cause },
  );
}

/** Maps every error to `ProviderAway`: all of them are the provider's fault. */
async function reached<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof DomainError ? error : unavailable(error);
  }
}

/** Maps errors to a fault of the presented token or code, unless the provider was unreachable. */
async function mapProviderErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isAway(error) ? unavailable(error) : idTokenInvalid(error);
  }
}

function isAway(error: unknown): boolean {
  if (error instanceof joseErrors.JWKSTimeout || error instanceof joseErrors.JWKSInvalid) {
    return true;
  }
  if (error instanceof joseErrors.JOSEError && error.code === 'ERR_JOSE_GENERIC') {
    return true;
  }
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if (cause instanceof ProviderAway) {
      return true;
    }
  }
  return false;
}
