/**
 * The port to the OAuth authorization servers that protect tool servers and sources; its implementation stands in
 * adapters/authorization. All addresses are chosen by a foreign server, so that every request passes the guarded way
 * out. Nothing is stored and nothing is retried here. Discovery ends within `discoveryMs`, any other request within
 * `requestMs`.
 */
export interface AuthorizationServers {
  /**
   * Reads the metadata of the protected resource (RFC 9728) and of its authorization server (RFC 8414, OpenID
   * Connect Discovery).
   * @throws AuthorizationFailure
   */
  discover(resource: ProtectedResource, signal: AbortSignal): Promise<AuthorizationTarget>;
  /** Dynamic registration (RFC 7591). @throws AuthorizationFailure */
  register(target: AuthorizationTarget, client: Registration, signal: AbortSignal): Promise<RegisteredClient>;
  /**
   * The address of the authorization request with PKCE S256. No request is sent.
   * @throws AuthorizationFailure `pkce_unsupported`, `url_not_allowed`, `protocol_error`
   */
  begin(request: AuthorizationRequest): Promise<BegunAuthorization>;
  /** A new key for proofs of possession, if the resource demands them; null: bearer tokens. */
  createDpopKey(target: AuthorizationTarget): Promise<Record<string, unknown> | null>;
  /** Compares, character by character, the issuer of a callback (RFC 9207) with the expected one. @throws AuthorizationFailure `issuer_mismatch` */
  checkIssuer(target: AuthorizationTarget, iss: string | null): void;
  /** @throws AuthorizationFailure */
  exchange(grant: Grant, code: AuthorizationCode, signal: AbortSignal): Promise<IssuedTokens>;
  /**
   * @throws AuthorizationFailure `sent` says whether the authorization server may have rotated the refresh token
   */
  refresh(grant: Grant, refreshToken: string, signal: AbortSignal): Promise<IssuedTokens>;
  /** The grant of a client that acts for itself. @throws AuthorizationFailure */
  clientCredentials(grant: Grant, scope: string | null, signal: AbortSignal): Promise<IssuedTokens>;
  /**
   * RFC 7009, or the server's own way. @returns false if the server does not revoke tokens of that kind, or none at all
   * @throws AuthorizationFailure
   */
  revoke(grant: Grant, token: RevocableToken, signal: AbortSignal): Promise<boolean>;
}

/** What waits for an authorization server derives its own limit from these two. */
export const discoveryMs = 15_000;
export const requestMs = 15_000;

/** A server that answered 401 or 403, with what its challenge said. */
export interface ProtectedResource {
  tenantId: string;
  url: string;
  /** The `WWW-Authenticate` challenge; null: the well-known addresses are read. */
  challenge: AuthorizationChallenge | null;
}

export interface AuthorizationChallenge {
  /** Address of the protected resource's metadata. */
  metadataUrl: string | null;
  /** Scopes, separated by spaces. */
  scope: string | null;
  /** RFC 6750: `invalid_token`, `insufficient_scope`. */
  error: string | null;
  /** The challenge demands proofs of possession (RFC 9449). */
  dpop: boolean;
}

/** What discovery found; stored as JSON with an attempt and a connection. */
export interface AuthorizationTarget {
  tenantId: string;
  issuer: string;
  /** Resource indicator (RFC 8707), exactly as the metadata spells it; null: the server has no such metadata. */
  resource: string | null;
  /** Scopes of the challenge, else of the resource's metadata; separated by spaces. */
  scope: string | null;
  /** Algorithm of the proofs of possession that the resource demands (RFC 9449); null: bearer tokens. */
  dpopAlg: string | null;
  /** The server reads a client id that is the address of a metadata document. */
  acceptsClientDocuments: boolean;
  registersClients: boolean;
  /** The used members of the authorization server's metadata, validated. */
  metadata: Record<string, unknown>;
  /** Of a source, whose provider knows its authorization server; omitted: it was discovered. */
  source?: SourceTarget;
}

/** What a provider of sources knows of its authorization server beside the metadata. */
export interface SourceTarget {
  /** Slug of the provider, in whose wire format tokens are issued. */
  provider: string;
  title: string;
  /** Of the source: its tokens are sent nowhere else. */
  origin: string;
  /** Added to the authorization request. */
  parameters: Record<string, string>;
}

export const clientAuthMethods = [
  'client_secret_basic',
  'client_secret_post',
  'none',
  'private_key_jwt',
] as const;
export type ClientAuthMethod = (typeof clientAuthMethods)[number];

/** This platform as a client of one issuer. */
export interface OAuthClient {
  clientId: string;
  /** Sealed wherever it is stored. */
  clientSecret: string | null;
  /** PEM (PKCS #8) for `private_key_jwt`; sealed wherever it is stored. */
  privateKey: string | null;
  /** null: the method that fits the secret and the server's metadata. */
  authMethod: ClientAuthMethod | null;
  /** When the secret expires; null: never. */
  secretExpiresAt: Date | null;
}

export interface RegisteredClient extends OAuthClient {
  /** The scopes that it may ask for, if its registration limits them; empty: none; null: it does not limit them. */
  scope: string | null;
}

export interface ClientMetadata {
  clientName: string;
  clientUri: string;
  redirectUris: string[];
  scope: string | null;
}

export interface Registration extends ClientMetadata {
  /** Whether a server that refuses scopes which it does not list is asked to register the others. */
  mayLackScopes: boolean;
}

export interface AuthorizationRequest {
  target: AuthorizationTarget;
  client: OAuthClient;
  redirectUri: string;
  scope: string | null;
  /** Scopes of the earlier grant, which a request for more scopes must not lose; null: there is none. */
  grantedScope: string | null;
  state: string;
}

export interface BegunAuthorization {
  url: string;
  /** Verifier of the challenge; a secret. */
  codeVerifier: string;
  /** The requested scopes, with `offline_access` where the server offers it; null: none were named. */
  scope: string | null;
}

export interface Grant {
  target: AuthorizationTarget;
  client: OAuthClient;
  /** JWK of the private key for proofs of possession (RFC 9449); null: bearer tokens. */
  dpopKey: Record<string, unknown> | null;
}

export interface AuthorizationCode {
  code: string;
  codeVerifier: string;
  redirectUri: string;
  iss: string | null;
}

export interface IssuedTokens {
  accessToken: string;
  tokenType: 'Bearer' | 'DPoP';
  /** After a refresh without rotation: the same as before. */
  refreshToken: string | null;
  /** null: the server did not say. */
  expiresAt: Date | null;
  /** Granted scopes, separated by spaces; null: those requested. */
  scope: string | null;
}

export interface RevocableToken {
  token: string;
  kind: 'access_token' | 'refresh_token';
}

export const authorizationFailures = [
  /** No answer in time, or none that can be read. */
  'unreachable',
  'url_not_allowed',
  /** Neither the resource nor its host names an authorization server. */
  'not_discovered',
  'issuer_mismatch',
  /** The metadata names another resource than the tool server, or the authorization server refuses the resource. */
  'resource_mismatch',
  /** The server does not offer PKCE with S256. */
  'pkce_unsupported',
  /** The server neither accepts a metadata document nor registers clients: a pre-registered client is needed. */
  'client_required',
  /** `invalid_client`, `unauthorized_client`: the registration is not valid any more. */
  'client_rejected',
  /** `invalid_grant`: the code or refresh token is expired, used or revoked. */
  'grant_rejected',
  'access_denied',
  'scope_rejected',
  'protocol_error',
] as const;
export type AuthorizationFailureCode = (typeof authorizationFailures)[number];

interface FailedRequest {
  sent: boolean;
  answered?: boolean;
  retryAfterMs?: number | null;
}

/** Fixed words: the message holds no text from outside. */
export class AuthorizationFailure extends Error {
  readonly code: AuthorizationFailureCode;
  /** Whether the request may have reached the server. */
  readonly sent: boolean;
  /** Whether the server itself has answered: what it did is known, and nothing was lost. */
  readonly answered: boolean;
  /** The pause that the server asked for; null: none. */
  readonly retryAfterMs: number | null;

  constructor(
    code: AuthorizationFailureCode,
    { sent, answered = false, retryAfterMs = null }: FailedRequest,
  ) {
    super(code);
    this.name = 'AuthorizationFailure';
    this.code = code;
    this.sent = sent;
    this.answered = answered;
    this.retryAfterMs = retryAfterMs;
  }
}
