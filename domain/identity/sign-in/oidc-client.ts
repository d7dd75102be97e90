import type { SigningAlg } from '#domain/identity/identity-providers/provider-settings.ts';

/** Connection settings of a provider. */
export interface ProviderConnection {
  tenantId: string;
  id: string;
  issuer: string;
  clientId: string;
  clientSecret: string | null;
  signingAlg: SigningAlg;
}

/** An ID token with verified signature, issuer, audience and times. */
export interface VerifiedIdToken {
  /** From its header. */
  alg: string;
  typ: string | null;
  claims: IdTokenClaims;
}

export interface IdTokenClaims {
  iss: string;
  sub: string;
  aud: string | string[];
  iat: number;
  exp: number;
  nonce: string;
  azp?: unknown;
  at_hash?: unknown;
  name?: unknown;
  email?: unknown;
  email_verified?: unknown;
}

/**
 * The OpenID Connect client. Every failure is one of two: the provider is unavailable, or its response is invalid.
 */
export interface OidcClient {
  /** The authorisation address for the browser. @throws `identity_provider_unavailable` */
  authorizationUrl(
    provider: ProviderConnection,
    login: { redirectUri: string; state: string; nonce: string; codeVerifier: string },
  ): Promise<string>;

  /**
   * Exchanges the code in `callbackUrl` for tokens.
   * @throws `identity_provider_unavailable`, `id_token_invalid`
   */
  exchangeCode(
    provider: ProviderConnection,
    login: { callbackUrl: string; state: string; nonce: string; codeVerifier: string },
  ): Promise<{ idToken: string; accessToken: string }>;

  /**
   * @param tokenSource whether the token came straight from the provider, or from a caller
   * @throws `identity_provider_unavailable`, `id_token_invalid`
   */
  verify(
    provider: ProviderConnection,
    idToken: string,
    tokenSource: 'provider' | 'stranger',
  ): Promise<VerifiedIdToken>;

  /** The nonce claim of an unverified ID token; null without one. */
  peekNonce(idToken: string): string | null;
}
