import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider, type ClientMetadata, type KoaContextWithOIDC } from 'oidc-provider';
import { configurationOf, type AuthorizationServerOptions } from './authorization-server-options.ts';
import { authorizeInBrowser, type Decision } from './browser-part.ts';
import { interact } from './consent-page.ts';

/** A request to the token endpoint that was handled. */
export interface TokenRequest {
  grantType: string;
  /** The form, in which codes and tokens are readable. */
  form: Record<string, unknown>;
  /** null: tokens were issued. */
  error: string | null;
  /** The account; null where it is not known. */
  sub: string | null;
  /** The refresh token that was issued. */
  issued: string | null;
  /** Milliseconds of `performance.now()`. */
  at: number;
}

/** What an access token stands for; null: it is unknown, expired or revoked. */
export interface KnownToken {
  sub: string;
  clientId: string;
  scopes: string[];
  resource: string;
  /** Seconds since the epoch. */
  expiresAt: number;
  /** Thumbprint of the key of a token of type DPoP. */
  jkt: string | null;
}

export interface AuthorizationServer {
  issuer: string;
  /** Requests by path, refused ones included. */
  asked: Map<string, number>;
  tokenRequests: TokenRequest[];
  /** Set by a test: how long an answer of the token endpoint is held back after it was handled. */
  tokenAnswerDelayMs: number;
  /** Set by a test: answers a path in place of the server. */
  instead: Map<string, (request: IncomingMessage, response: ServerResponse) => void>;
  /** The part of a person in a browser, between the authorization request and the callback. @returns the callback's address */
  authorize(url: string, decision?: Decision): Promise<string>;
  find(token: string): Promise<KnownToken | null>;
  /** As a person would do it on the server's own pages: every token of this account is revoked. */
  revokeAccount(sub: string): Promise<void>;
  /** Every client registered so far becomes unknown. */
  forgetClients(): void;
  /** A client of a developer's page. */
  addClient(client: ClientMetadata): Promise<void>;
  /** The access tokens issued so far become invalid; refresh tokens stay good. */
  forgetAccessTokens(): void;
  stop(): Promise<void>;
}

/** Paths of the authorization server may stand below that of what the origin serves beside it. */
function isBeside(path: string, { beside, routes = {} }: AuthorizationServerOptions): boolean {
  return beside !== undefined && path.startsWith(beside.path) && !Object.values(routes).includes(path);
}

/** An authorization server of `oidc-provider`, on the loopback interface. */
export async function startAuthorizationServer(
  options: AuthorizationServerOptions = {},
): Promise<AuthorizationServer> {
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const server = createServer((request, response) => handle(request, response));
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer = origin + (options.issuerPath ?? '');
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), kid: 'key', alg: 'ES256', use: 'sig' };
  const { configuration, store } = configurationOf(origin, { ...options, jwk });
  const provider = new Provider(issuer, configuration);
  const answer = provider.callback();

  const known: AuthorizationServer = {
    issuer,
    asked: new Map(),
    tokenRequests: [],
    tokenAnswerDelayMs: 0,
    instead: new Map(),
    authorize: (url, decision) => authorizeInBrowser(url, decision),
    find: async (token) => {
      const found =
        (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
      return found?.isValid !== true
        ? null
        : {
            sub: 'accountId' in found ? found.accountId : `client:${found.clientId}`,
            clientId: found.clientId ?? '',
            scopes: [...found.scopes],
            resource: String(found.aud ?? ''),
            expiresAt: found.exp ?? 0,
            jkt: found.jkt ?? null,
          };
    },
    revokeAccount: async (sub) => {
      await Promise.all(store.grantsOf(sub).map((grant) => store.revokeByGrantId(grant)));
    },
    forgetClients: () => store.forget('Client'),
    addClient: async (client) => {
      await store.adapterOf('Client').upsert(client.client_id, client, 0);
    },
    forgetAccessTokens: () => store.forget('AccessToken'),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  const noteToken = (ctx: KoaContextWithOIDC | undefined, error: string | null) => {
    const form = ctx?.oidc?.body;
    const issued = error === null ? (ctx?.body as { refresh_token?: string } | undefined) : undefined;
    known.tokenRequests.push({
      grantType: String(form?.['grant_type']),
      form: { ...form },
      error,
      sub: ctx?.oidc?.entities.Account?.accountId ?? ctx?.oidc?.entities.RefreshToken?.accountId ?? null,
      issued: issued?.refresh_token ?? null,
      at: performance.now(),
    });
  };
  provider.on('grant.success', (ctx) => noteToken(ctx, null));
  provider.on('grant.error', (ctx, { error }) => noteToken(ctx, error));
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.path === (options.routes?.token ?? '/token')) {
      await sleep(known.tokenAnswerDelayMs);
    }
  });
  handle = (request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    known.asked.set(path, (known.asked.get(path) ?? 0) + 1);
    const instead = known.instead.get(path);
    if (instead !== undefined) {
      instead(request, response);
    } else if (options.beside !== undefined && isBeside(path, options)) {
      options.beside.serve(request, response);
    } else if (path.startsWith('/interaction/')) {
      interact(provider, request, response, options).catch(() => response.writeHead(400).end());
    } else {
      void answer(request, response);
    }
  };
  return known;
}
