import type { IncomingMessage, ServerResponse } from 'node:http';
import { errors, type ClientMetadata, type Configuration, type JWK } from 'oidc-provider';
import { MemoryStore } from './memory-store.ts';

export interface AuthorizationServerOptions {
  port?: number;
  /** Clients that exist without a registration. */
  clients?: ClientMetadata[];
  /** Dynamic registration; true when not set. */
  registers?: boolean;
  /** Reads client documents with this fetch in place of its own, which refuses addresses of this machine. */
  readDocument?: (url: string) => Promise<Response>;
  /** Lifetime of access tokens; 600 when not set. */
  accessTokenSeconds?: number;
  /** Lifetime of refresh tokens; 3,600 when not set. */
  refreshTokenSeconds?: number;
  /** A refresh issues a new refresh token, and a used one revokes all; true when not set. */
  rotates?: boolean;
  /** Revocation endpoint; true when not set. */
  revokes?: boolean;
  /** Scopes of every protected resource. */
  resourceScopes?: string[];
  /** Resources that it refuses, as `invalid_target`. */
  refusesResource?: (resource: string) => boolean;
  /** Proofs of possession need a nonce of this server. */
  demandsNonce?: boolean;
  /** Of a vendor with paths of its own. */
  routes?: Pick<NonNullable<Configuration['routes']>, 'authorization' | 'token' | 'revocation'>;
  /** PKCE; true when not set. */
  demandsProofKey?: boolean;
  /** Appended to the origin. */
  issuerPath?: string;
  /** Scopes that need no resource. */
  plainScopes?: string[];
  /** What the same origin serves beside the authorization server: it answers requests for paths of this beginning. */
  beside?: { path: string; serve: (request: IncomingMessage, response: ServerResponse) => void };
  /** Header Cross-Origin-Opener-Policy of the pages. */
  openerPolicy?: string;
}

export const resourceScopes = ['read', 'write', 'admin'];

export function configurationOf(
  origin: string,
  options: AuthorizationServerOptions & { jwk: JWK },
): { configuration: Configuration; store: MemoryStore } {
  const store = new MemoryStore();
  const { accessTokenSeconds = 600, refreshTokenSeconds = 3_600, readDocument } = options;
  const configuration: Configuration = {
    adapter: (model: string) => store.adapterOf(model),
    clients: options.clients ?? [],
    jwks: { keys: [options.jwk] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    cookies: { keys: ['cookie-key'] },
    pkce: { required: () => options.demandsProofKey ?? true },
    scopes: ['openid', 'offline_access', ...(options.plainScopes ?? [])],
    ...(options.routes === undefined ? {} : { routes: options.routes }),
    rotateRefreshToken: options.rotates ?? true,
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: options.registers ?? true },
      revocation: { enabled: options.revokes ?? true },
      clientCredentials: { enabled: true },
      dPoP: {
        enabled: true,
        ...(options.demandsNonce === true
          ? { nonceSecret: Buffer.alloc(32, 7), requireNonce: () => true }
          : {}),
      },
      clientIdMetadataDocument: { enabled: readDocument !== undefined, ack: 'draft-02' },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_ctx, resource) => {
          if (options.refusesResource?.(resource) === true) throw new errors.InvalidTarget();
          return {
            scope: (options.resourceScopes ?? resourceScopes).join(' '),
            audience: resource,
            accessTokenTTL: accessTokenSeconds,
            accessTokenFormat: 'opaque',
          };
        },
      },
    },
    ...(readDocument === undefined
      ? {}
      : { fetch: (input) => readDocument(input instanceof Request ? input.url : input.toString()) }),
    interactions: { url: (_ctx, { uid }) => `${origin}/interaction/${uid}` },
    ttl: {
      AccessToken: accessTokenSeconds,
      ClientCredentials: accessTokenSeconds,
      AuthorizationCode: 60,
      RefreshToken: refreshTokenSeconds,
      IdToken: 600,
      Interaction: 600,
      Session: 600,
      Grant: 3_600,
    },
    renderError: (ctx, { error }) => {
      ctx.type = 'text/plain';
      ctx.body = `${error}\n`;
    },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  };
  return { configuration, store };
}
