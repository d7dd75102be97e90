import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Call, type TestGateway } from '../support/gateway.ts';
import { idFixtures, type IdFixture } from '../support/id-fixtures.ts';
import { differenceInTurns, inPercent, differs } from '../support/paired-times.ts';
import { createPlaces, Maker, type Place } from '../support/places.ts';

const maxApart = 0.05;
/** Each case has as many ids, so that none has warmer rows than another. */
const idsOfEach = 10;
/** One for each kind of look-up by id; the matrix checks the answers. */
const positions = [
  'getResponse path response_id',
  'getThread path thread_id',
  'deleteCollection path collection_id',
  'getServer path space_id',
  'createResponse body previous_response_id',
];

let database: TestDatabase;
let gateway: TestGateway;
let here: Place;
let abroad: Place;
let fixtures: Record<string, IdFixture>;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
  ({ here, abroad } = await createPlaces(database));
  fixtures = idFixtures(new Maker(() => gateway));
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
});

const ask = ({ method, path, apiKey = '', body }: Call) =>
  gateway.app.inject({
    method: method as 'GET',
    url: `/api${path}`,
    headers: { 'x-api-key': apiKey },
    ...(body === undefined ? {} : { payload: body as object }),
  });

async function callsWith(fixture: IdFixture, makeId: () => Promise<string> | string): Promise<Call[]> {
  const calls: Call[] = [];
  for (let i = 0; i < idsOfEach; i += 1) {
    calls.push(await fixture.call(here, await makeId()));
  }
  return calls;
}

describe('an id of another tenant', () => {
  it.each(positions)(
    'at %s is refused in the time that an unknown one takes',
    async (position) => {
      const fixture = fixtures[position]!;
      const calls = {
        unknown: await callsWith(fixture, () => fixture.unknown()),
        foreign: await callsWith(fixture, () => fixture.make(abroad)),
      };
      const answers = await Promise.all(Object.values(calls).flat().map(ask));
      const said = answers.map(({ statusCode, body, headers }) =>
        `${statusCode} ${body}`.replace(headers['x-request-id'] as string, 'req_'),
      );
      expect(new Set(said).size).toBe(1);
      expect(said[0]).toMatch(/^404 /);
      const way = (of: Call[]) => (round: number) => ask(of[round % of.length]!);
      const ways = { base: way(calls.unknown), other: way(calls.foreign) };
      const difference = await differenceInTurns(ways, { share: maxApart, atMost: 1_000, seconds: 10 });
      console.log(`slower than an unknown id: one of another tenant ${inPercent(difference)}`);
      expect(differs(difference, maxApart)).toBe(false);
    },
    120_000,
  );
});
