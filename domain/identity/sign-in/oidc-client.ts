import type { SigningAlg } from '#domain/identity/identity-providers/provider-settings.ts';

/** What a conversation with a provider needs to know of it. */
export interface ProviderConnection {
  tenantId: string;
  id: string;
  issuer: string;
  clientId: string;
  clientSecret: string | null;
  signingAlg: SigningAlg;
}

/** An ID token whose signature, issuer, audience and times have been found right. */
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

/** The OpenID Connect side of a sign-in. Every failure is one of two: the provider is away, or what came is no good. */
export interface OidcClient {
  /** Where the browser goes. @throws `identity_provider_unavailable` */
  authorizationUrl(
    provider: ProviderConnection,
    login: { redirectUri: string; state: string; nonce: string; codeVerifier: string },
  ): Promise<string>;

  /**
   * The tokens behind the code in `callbackUrl`.
   * @throws `identity_provider_unavailable`, `id_token_invalid`
   */
  exchangeCode(
    provider: ProviderConnection,
    login: { callbackUrl: string; state: string; nonce: string; codeVerifier: string },
  ): Promise<{ idToken: string; accessToken: string }>;

  /**
   * @param bringer whether the provider itself handed the token over, or anybody
   * @throws `identity_provider_unavailable`, `id_token_invalid`
   */
  verify(
    provider: ProviderConnection,
    idToken: string,
    tokenSource: 'provider' | 'stranger',
  ): Promise<VerifiedIdToken>;

  /** The nonce that an ID token claims, before anything of it has been verified; null where there is none. */
  peekNonce(idToken: string): string | null;
}
