import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mintApiKey } from '#domain/identity/api-keys/api-key.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { differenceOf, inPercent, differs, timeInTurns } from '../support/paired-times.ts';
import { statementsDuring } from '../support/statements.ts';
import { connect } from '../support/tables.ts';
import { addMember, createWorld, secrets, type World } from '../support/world.ts';

const rounds = 1_000;
const maxApart = 0.05;
/** Each cause has as many keys, so that none has warmer rows or counters than another. */
const keysOfEach = 10;

let database: TestDatabase;
let gateway: TestGateway;
let world: World;
/** Refused keys by cause. The first two causes are the same. */
const refused: Record<string, string[]> = {};

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
  world = await createWorld(database.unitOfWork);
  const admin = await connect(database.adminUrl);
  const member = () => addMember(database.unitOfWork, world);
  const unknown = async () => mintApiKey(secrets).token;
  const withKey = (change: string) => async () => {
    const { apiKey, keyId } = await member();
    await admin.query(`update api_keys set ${change} where key_id = $1`, [keyId]);
    return apiKey;
  };
  const withoutPrincipal = async () => {
    const { apiKey, principalId } = await member();
    const path = `/v1/admin/principals/${principalId}`;
    const { status } = await gateway.send({ method: 'DELETE', path, apiKey: world.apiKey });
    expect(status).toBe(200);
    return apiKey;
  };
  const causes: Record<string, () => Promise<string>> = {
    'an unknown id': unknown,
    'an unknown id, again': unknown,
    'a wrong secret': async () => mintApiKey(secrets, (await member()).keyId).token,
    revoked: withKey('revoked_at = now()'),
    expired: withKey(`expires_at = now() - interval '1 day'`),
    'of a deleted principal': withoutPrincipal,
  };
  for (const [cause, make] of Object.entries(causes)) {
    refused[cause] = await Promise.all(Array.from({ length: keysOfEach }, make));
  }
  await admin.end();
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
});

const ask = (key: string) =>
  gateway.app.inject({
    method: 'GET',
    url: `/api/v1/spaces/${world.spaceId}/collections`,
    headers: { 'x-api-key': key },
  });

/** How often a secret is hashed while `work` runs. */
async function hashesDuring(work: () => Promise<unknown>): Promise<number> {
  const { secrets: own } = gateway.gateway;
  const mac = own.mac.bind(own);
  let hashes = 0;
  own.mac = (purpose, text) => {
    hashes += purpose === 'api-key' ? 1 : 0;
    return mac(purpose, text);
  };
  await work().finally(() => (own.mac = mac));
  return hashes;
}

describe('a key that is refused', () => {
  it('is answered with the same bytes for every cause, except for the request id', async () => {
    const answers = await Promise.all(Object.values(refused).flat().map(ask));
    const said = answers.map(({ statusCode, body, headers }) => {
      const id = headers['x-request-id'] as string;
      return `${statusCode} ${body.replace(id, 'req_')} ${JSON.stringify(headers).replace(id, 'req_')}`;
    });
    expect(said.length).toBe(6 * keysOfEach);
    expect(new Set(said.map((text) => text.replaceAll(/"date":"[^"]*"/g, ''))).size).toBe(1);
    expect(said[0]).toMatch(/^401 .*"invalid_credentials"/);
  });

  it('costs one query and one hash for every cause', async () => {
    for (const [cause, [key = '']] of Object.entries(refused)) {
      let queries: string[] = [];
      const hashes = await hashesDuring(async () => {
        queries = await statementsDuring(gateway, () => ask(key));
      });
      expect({ cause, hashes, queries }).toEqual({ cause, hashes: 1, queries: ['find_credential'] });
    }
  });

  it('takes the same time for every cause', async () => {
    const ways = Object.fromEntries(
      Object.entries(refused).map(([cause, keys]) => [
        cause,
        (round: number) => ask(keys[round % keys.length]!),
      ]),
    );
    await timeInTurns(ways, { rounds: 100 });
    const { 'an unknown id': base = [], ...others } = await timeInTurns(ways, { rounds, seconds: 30 });
    const found = Object.entries(others).map(([cause, times]) => ({
      cause,
      difference: differenceOf(base, times),
    }));
    const lines = found.map(({ cause, difference }) => `${cause} ${inPercent(difference)}`);
    console.log(`slower than an unknown id: ${lines.join(', ')}`);
    const received = found.filter(({ difference }) => differs(difference, maxApart));
    expect(received.map(({ cause }) => cause)).toEqual([]);
  });
});
