import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { exportJWK, generateKeyPair } from 'jose';
import { hashAccessToken } from '#domain/identity/sign-in/check-id-token.ts';
import type { IdentityProviderServer, TokenOptions } from './identity-provider.ts';

/** The forger's knowledge: everything but the provider's key. */
export interface Forgery {
  server: IdentityProviderServer;
  asked: { nonce: string; sub: string; clientId: string };
  /** A nonce of another tenant's open sign-in. */
  foreignNonce: string;
}

export interface HostileToken {
  name: string;
  forge: (forgery: Forgery) => Promise<string>;
  /** Where the rules of one endpoint let it pass: the code flow needs no at_hash. */
  only?: 'session';
}

const now = () => Math.floor(Date.now() / 1_000);
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

const signed =
  (options: TokenOptions | ((forgery: Forgery) => TokenOptions)) =>
  ({ server, asked, ...rest }: Forgery): Promise<string> =>
    server.idToken(asked, typeof options === 'function' ? options({ server, asked, ...rest }) : options);

const claims = (name: string, change: (forgery: Forgery) => Record<string, unknown>): HostileToken => ({
  name,
  forge: signed((forgery) => ({ claims: change(forgery) })),
});
const without = (claim: string): HostileToken => ({
  name: `no ${claim}`,
  forge: signed({ without: [claim] }),
});
const header = (name: string, change: Record<string, unknown>): HostileToken => ({
  name,
  forge: signed({ header: change }),
});

/** Takes a good token apart and reassembles it differently. */
const rebuilt = (
  name: string,
  build: (parts: [string, string, string], forgery: Forgery) => string,
): HostileToken => ({
  name,
  forge: async (forgery) =>
    build((await forgery.server.idToken(forgery.asked)).split('.') as [string, string, string], forgery),
});

async function withForeignKey(forgery: Forgery, extra: TokenOptions['header'] = {}): Promise<string> {
  const { privateKey } = await generateKeyPair(forgery.server.alg);
  return forgery.server.idToken(forgery.asked, { key: privateKey, header: extra });
}

/** The provider's own signature over any payload text. */
async function signRaw({ server }: Forgery, payload: string, head: object = {}): Promise<string> {
  const key = createPrivateKey({ key: await exportJWK(server.key), format: 'jwk' });
  const input = `${encode({ alg: server.alg, kid: server.publicJwk.kid, typ: 'JWT', ...head })}.${Buffer.from(payload).toString('base64url')}`;
  const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });
  return `${input}.${signature.toString('base64url')}`;
}

export const hostileTokens: readonly HostileToken[] = [
  claims('another issuer', () => ({ iss: 'https://evil.example.com' })),
  claims('an issuer with a slash behind it', ({ server }) => ({ iss: `${server.issuer}/` })),
  claims('an issuer in capitals', ({ server }) => ({ iss: server.issuer.toUpperCase() })),
  claims('an issuer by its other name', ({ server }) => ({
    iss: server.issuer.replace('127.0.0.1', 'localhost'),
  })),
  claims('an issuer over https', ({ server }) => ({ iss: server.issuer.replace('http:', 'https:') })),
  claims('a list of issuers', ({ server }) => ({ iss: [server.issuer] })),
  claims('an empty issuer', () => ({ iss: '' })),
  without('iss'),
  claims('another audience', () => ({ aud: 'somebody-else' })),
  claims('an audience more than is listed', ({ asked }) => ({
    aud: [asked.clientId, 'somebody-else'],
    azp: asked.clientId,
  })),
  claims('an audience with a space behind it', ({ asked }) => ({ aud: `${asked.clientId} ` })),
  claims('an audience in capitals', ({ asked }) => ({ aud: asked.clientId.toUpperCase() })),
  claims('no audience in a list', () => ({ aud: [] })),
  claims('an audience that is an object', ({ asked }) => ({ aud: { 0: asked.clientId } })),
  without('aud'),
  claims('another authorized party', () => ({ azp: 'somebody-else' })),
  claims('a list of authorized parties', ({ asked }) => ({ azp: [asked.clientId] })),
  claims('an empty authorized party', () => ({ azp: '' })),
  claims('a nonce that nobody gave out', () => ({ nonce: 'guessed' })),
  claims('another tenant’s nonce', ({ foreignNonce }) => ({ nonce: foreignNonce })),
  claims('an empty nonce', () => ({ nonce: '' })),
  claims('a list of nonces', ({ asked }) => ({ nonce: [asked.nonce] })),
  claims('a nonce with a space behind it', ({ asked }) => ({ nonce: `${asked.nonce} ` })),
  claims('a nonce of a megabyte', () => ({ nonce: 'n'.repeat(10_000) })),
  without('nonce'),
  claims('an empty subject', () => ({ sub: '' })),
  claims('a subject that is a number', () => ({ sub: 42 })),
  claims('a list of subjects', ({ asked }) => ({ sub: [asked.sub] })),
  claims('a subject that is too long', () => ({ sub: 'x'.repeat(256) })),
  claims('a subject with NUL', () => ({ sub: 'a\0da' })),
  without('sub'),
  claims('an age of six minutes', () => ({ iat: now() - 360, exp: now() + 300 })),
  claims('a birth in the future', () => ({ iat: now() + 60, exp: now() + 300 })),
  claims('a birth in words', () => ({ iat: String(now()) })),
  without('iat'),
  claims('an end in the past', () => ({ exp: now() - 10 })),
  claims('an end in words', () => ({ exp: String(now() + 300) })),
  without('exp'),
  claims('a beginning in the future', () => ({ nbf: now() + 60 })),
  claims('another access token’s hash', ({ server }) => ({
    at_hash: hashAccessToken(server.alg, 'another'),
  })),
  claims('an empty hash', () => ({ at_hash: '' })),
  claims('a hash that is a number', () => ({ at_hash: 1 })),
  { name: 'no at_hash', forge: signed({ without: ['at_hash'] }), only: 'session' },
  header('the type of an access token', { typ: 'at+jwt' }),
  header('the type of a logout token', { typ: 'logout+jwt' }),
  header('a type that is spelled in its own way', { typ: 'application/jwt' }),
  rebuilt('algorithm none', ([, payload]) => `${encode({ alg: 'none', typ: 'JWT' })}.${payload}.`),
  rebuilt(
    'algorithm none with the signature kept',
    ([, payload, signature]) => `${encode({ alg: 'none' })}.${payload}.${signature}`,
  ),
  rebuilt('algorithm nOnE', ([, payload]) => `${encode({ alg: 'nOnE' })}.${payload}.`),
  {
    name: 'the public key as a shared secret',
    forge: async ({ server, asked }) => {
      const pem = createPublicKey({ key: server.publicJwk, format: 'jwk' }).export({
        type: 'spki',
        format: 'pem',
      });
      return server.idToken(asked, { header: { alg: 'HS256' }, key: new TextEncoder().encode(String(pem)) });
    },
  },
  {
    name: 'the client’s secret as a shared secret',
    forge: async ({ server, asked }) =>
      server.idToken(asked, {
        header: { alg: 'HS256' },
        key: new TextEncoder().encode('upstream-client-secret'.padEnd(32, '0')),
      }),
  },
  {
    name: 'another algorithm of a key of one’s own',
    forge: async ({ server, asked }) => {
      const { privateKey } = await generateKeyPair('EdDSA');
      return server.idToken(asked, { header: { alg: 'EdDSA' }, key: privateKey });
    },
  },
  { name: 'a key of one’s own under the provider’s key id', forge: (forgery) => withForeignKey(forgery) },
  { name: 'a key id that nobody has', forge: (forgery) => withForeignKey(forgery, { kid: 'nobody' }) },
  { name: 'a key id that is a path', forge: (forgery) => withForeignKey(forgery, { kid: '../../dev/null' }) },
  {
    name: 'a key in its own header',
    forge: async ({ server, asked }) => {
      const { privateKey, publicKey } = await generateKeyPair(server.alg, { extractable: true });
      return server.idToken(asked, {
        key: privateKey,
        header: { jwk: await exportJWK(publicKey), kid: null },
      });
    },
  },
  {
    name: 'an address of keys in its own header',
    forge: (forgery) => withForeignKey(forgery, { jku: 'https://evil.example.com/jwks' }),
  },
  {
    name: 'a demand that nobody understands',
    forge: (forgery) => signRaw(forgery, '{}', { crit: ['exp-x'], 'exp-x': 1 }),
  },
  rebuilt('a payload that was changed', ([head, payload, signature]) => {
    const changed = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), sub: 'admin' };
    return `${head}.${encode(changed)}.${signature}`;
  }),
  rebuilt(
    'a signature that was cut',
    ([head, payload, signature]) => `${head}.${payload}.${signature.slice(0, -4)}`,
  ),
  rebuilt('no signature', ([head, payload]) => `${head}.${payload}.`),
  rebuilt('two parts', ([head, payload]) => `${head}.${payload}`),
  rebuilt('four parts', ([head, payload, signature]) => `${head}.${payload}.${signature}.`),
  rebuilt(
    'five parts',
    ([head, payload, signature]) => `${head}.${payload}.${signature}.${payload}.${signature}`,
  ),
  { name: 'a payload that is no JSON', forge: (forgery) => signRaw(forgery, 'iss=me') },
  { name: 'a payload that is a list', forge: (forgery) => signRaw(forgery, '[]') },
  { name: 'a payload of null', forge: (forgery) => signRaw(forgery, 'null') },
  { name: 'no token at all', forge: async () => 'not-a-token' },
];

/** The encodings in which one token can be sent again: its claims are the same in each. */
export async function sameTokenAgain(forgery: Forgery, first: string): Promise<Record<string, string>> {
  const [head = '', payload = '', signature = ''] = first.split('.');
  const text = Buffer.from(payload, 'base64url').toString();
  const parsed = JSON.parse(text) as Record<string, unknown>;
  const reversed = JSON.stringify(Object.fromEntries(Object.entries(parsed).toReversed()));
  return {
    'letter by letter': first,
    padded: `${head}.${payload}.${signature}==`,
    'with the other of the two signatures': `${head}.${payload}.${otherSignature(signature)}`,
    'signed anew': await signRaw(forgery, text),
    'with its members in another order': await signRaw(forgery, reversed),
    'with spaces between its members': await signRaw(forgery, JSON.stringify(parsed, null, 2)),
  };
}

/** For every ECDSA signature (r, s), (r, n − s) is one as well. */
function otherSignature(signature: string): string {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const bytes = Buffer.from(signature, 'base64url');
  const s = BigInt(`0x${bytes.subarray(32).toString('hex')}`);
  const other = Buffer.from((order - s).toString(16).padStart(64, '0'), 'hex');
  return Buffer.concat([bytes.subarray(0, 32), other]).toString('base64url');
}
