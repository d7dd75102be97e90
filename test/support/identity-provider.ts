import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { hashAccessToken } from '#domain/identity/sign-in/check-id-token.ts';

interface Key {
  kid: string;
  privateKey: CryptoKey;
  jwk: JWK;
}

/** An authorization request, kept until its code is exchanged. */
interface Asked {
  redirectUri: string;
  nonce: string;
  clientId: string;
  challenge: string;
  sub: string;
}

export interface TokenOptions {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  /** Claims to leave out. */
  without?: string[];
  key?: CryptoKey | Uint8Array;
}

/** An identity provider that sends any content that a test sets, over the real wire. */
export class IdentityProviderServer {
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch(() => response.writeHead(500).end());
  });
  readonly #codes = new Map<string, Asked>();
  #keys: Key[] = [];
  #counter = 0;
  issuer = '';
  readonly alg: string;
  /** The number of requests to each path. */
  readonly asked: Record<string, number> = {};
  /** Creates the ID token of the next code; a valid one when not set. */
  forge: ((asked: Asked, good: string) => Promise<string> | string) | null = null;
  /** Answers a path in place of the ordinary answer. */
  readonly instead = new Map<string, (response: ServerResponse) => void>();
  includesIss = true;
  accessToken = 'upstream-access-token';

  constructor(alg = 'ES256') {
    this.alg = alg;
  }

  async start(): Promise<this> {
    await this.rotate();
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.issuer = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  get key(): CryptoKey {
    return this.#keys[0]!.privateKey;
  }

  get publicJwk(): JWK {
    return this.#keys[0]!.jwk;
  }

  /** Signs with a new key from now on; the set shows `keep` of the older ones. */
  async rotate(keep = 0): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair(this.alg, { extractable: true });
    this.#counter += 1;
    const kid = `key-${this.#counter}`;
    const jwk = { ...(await exportJWK(publicKey)), kid, alg: this.alg, use: 'sig' };
    this.#keys = [{ kid, privateKey, jwk }, ...this.#keys.slice(0, keep)];
  }

  /** A valid ID token of this provider, except for the changes in `options`. */
  async idToken(
    asked: { nonce: string; sub: string; clientId: string },
    options: TokenOptions = {},
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1_000);
    this.#counter += 1;
    const claims: Record<string, unknown> = {
      iss: this.issuer,
      sub: asked.sub,
      aud: asked.clientId,
      nonce: asked.nonce,
      iat: now,
      exp: now + 300,
      at_hash: hashAccessToken(this.alg, this.accessToken),
      name: `User ${asked.sub}`,
      email: `${asked.sub}@example.com`,
      email_verified: true,
      ...options.claims,
    };
    for (const name of options.without ?? []) {
      delete claims[name];
    }
    const header = { alg: this.alg, kid: this.#keys[0]!.kid, typ: 'JWT', ...options.header };
    return new SignJWT(claims)
      .setProtectedHeader(
        Object.fromEntries(Object.entries(header).filter(([, v]) => v !== null)) as { alg: string },
      )
      .sign(options.key ?? this.key);
  }

  /** The browser's part between start and callback: the callback's address. */
  authorize(address: string, sub = 'ada'): string {
    const { searchParams } = new URL(address);
    this.#counter += 1;
    const code = `code-${this.#counter}`;
    this.#codes.set(code, {
      redirectUri: searchParams.get('redirect_uri')!,
      nonce: searchParams.get('nonce')!,
      clientId: searchParams.get('client_id')!,
      challenge: searchParams.get('code_challenge')!,
      sub,
    });
    const back = new URL(searchParams.get('redirect_uri')!);
    back.searchParams.set('code', code);
    back.searchParams.set('state', searchParams.get('state')!);
    if (this.includesIss) {
      back.searchParams.set('iss', this.issuer);
    }
    return back.href;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url!.split('?')[0]!;
    this.asked[path] = (this.asked[path] ?? 0) + 1;
    const instead = this.instead.get(path);
    if (instead !== undefined) {
      instead(response);
      return;
    }
    switch (path) {
      case '/.well-known/openid-configuration':
        send(response, 200, {
          issuer: this.issuer,
          authorization_endpoint: `${this.issuer}/authorize`,
          token_endpoint: `${this.issuer}/token`,
          jwks_uri: `${this.issuer}/jwks`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: [this.alg],
          authorization_response_iss_parameter_supported: this.includesIss,
        });
        return;
      case '/jwks':
        send(response, 200, { keys: this.#keys.map(({ jwk }) => jwk) });
        return;
      case '/token': {
        const form = new URLSearchParams(await text(request));
        const asked = this.#codes.get(form.get('code') ?? '');
        if (
          asked === undefined ||
          form.get('redirect_uri') !== asked.redirectUri ||
          !form.has('code_verifier')
        ) {
          send(response, 400, { error: 'invalid_grant' });
          return;
        }
        this.#codes.delete(form.get('code')!);
        const good = await this.idToken(asked);
        const idToken = this.forge === null ? good : await this.forge(asked, good);
        send(response, 200, {
          access_token: this.accessToken,
          token_type: 'Bearer',
          expires_in: 3_600,
          id_token: idToken,
        });
        return;
      }
      default:
        send(response, 404, {});
    }
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
