import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mintApiKey, parseApiKey, secretMatches } from '#domain/identity/api-keys/api-key.ts';
import { revokeApiKey } from '#domain/identity/api-keys/revoke-api-key.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { openGateway, type TestGateway } from '../../../support/gateway.ts';
import { statementsDuring } from '../../../support/statements.ts';
import { connect } from '../../../support/tables.ts';
import { addMember, createWorld, secrets, type World } from '../../../support/world.ts';

let database: TestDatabase;
let gateway: TestGateway;
let world: World;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
  world = await createWorld(database.unitOfWork);
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
});

const ask = (headers: Record<string, string>) =>
  gateway.send({ method: 'GET', path: `/v1/spaces/${world.spaceId}/collections`, headers });

/** The same key with its last character changed: the form is right, the checksum is not. */
const misspelt = (token: string) => token.slice(0, -1) + (token.endsWith('0') ? '1' : '0');

describe('an API key', () => {
  it('has the form that scanners detect, and its secret is not stored', () => {
    const { token, keyId, secretHash } = mintApiKey(secrets);
    expect(token).toMatch(/^ak\.[0-9a-z]{16}\.[0-9A-Za-z]{49}$/);
    expect(token).toContain(`.${keyId}.`);
    const parsed = parseApiKey(token)!;
    expect(secretHash).not.toContain(parsed.secret);
    expect(secretMatches(secrets, parsed.secret, secretHash)).toBe(true);
    expect(secretMatches(secrets, parsed.secret, mintApiKey(secrets).secretHash)).toBe(false);
  });

  it('is invalid with any character changed', () => {
    const { token } = mintApiKey(secrets);
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom('0', 'a', 'Z', '.', 'é'), (at, character) => {
        fc.pre(token[at] !== character);
        expect(parseApiKey(token.slice(0, at) + character + token.slice(at + 1))).toBeNull();
      }),
    );
  });

  it('with a wrong checksum costs no query', async () => {
    expect(await statementsDuring(gateway, () => ask({ 'x-api-key': misspelt(world.apiKey) }))).toEqual([]);
    expect(await statementsDuring(gateway, () => ask({ 'x-api-key': world.apiKey }))).toContain(
      'find_credential',
    );
  });

  it('that is invalid is answered the same for each of six causes', async () => {
    const admin = await connect(database.adminUrl);
    const [expired, revoked] = [
      await addMember(database.unitOfWork, world),
      await addMember(database.unitOfWork, world),
    ];
    await admin.query(`update api_keys set expires_at = now() - interval '1 second' where key_id = $1`, [
      expired.keyId,
    ]);
    await admin.end();
    await database.unitOfWork.inTenant(world.tenantId, (em) => revokeApiKey(em, world.owner, revoked.keyId));
    const [, keyId] = world.apiKey.split('.');
    const another = mintApiKey(secrets);
    // a well-formed key whose id is known and whose secret is another's
    const wrongSecret = rejoined(keyId!);
    const answers = await Promise.all(
      ['nonsense', misspelt(world.apiKey), another.token, wrongSecret, expired.apiKey, revoked.apiKey].map(
        (token) => ask({ 'x-api-key': token }),
      ),
    );
    const bodies = answers.map(({ status, body: { error } }) => ({ status, ...error, request_id: '' }));
    expect(bodies).toEqual(
      Array.from({ length: 6 }, () => ({
        status: 401,
        type: 'authentication_error',
        code: 'invalid_credentials',
        message: 'The credentials are not valid.',
        param: null,
        request_id: '',
      })),
    );
  });

  it('works as a bearer token too, beside itself, but not beside another key', async () => {
    const other = await addMember(database.unitOfWork, world);
    const bearer = { authorization: `Bearer ${world.apiKey}` };
    expect((await ask(bearer)).status).toBe(200);
    expect((await ask({ ...bearer, 'x-api-key': world.apiKey })).status).toBe(200);
    const mixed = await ask({ ...bearer, 'x-api-key': other.apiKey });
    expect(mixed).toMatchObject({ status: 401, body: { error: { code: 'ambiguous_credentials' } } });
    expect(mixed.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
    expect(await ask({ authorization: 'Basic dTpw' })).toMatchObject({
      status: 401,
      body: { error: { code: 'invalid_credentials' } },
    });
  });
});

/** A key with this id, a right checksum and a secret that was never issued. */
function rejoined(keyId: string): string {
  const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const body = `ak.${keyId}.${'A'.repeat(43)}`;
  let rest = crc32(body);
  let checksum = '';
  for (let i = 0; i < 6; i += 1) {
    checksum = base62.charAt(rest % 62) + checksum;
    rest = Math.floor(rest / 62);
  }
  const token = body + checksum;
  expect(parseApiKey(token)).not.toBeNull();
  return token;
}
