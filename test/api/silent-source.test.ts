import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { createPlaces, Maker, type Place } from '../support/places.ts';
import { startSilence } from '../support/silent-server.ts';
import { slack } from '../support/slack.ts';
import { MemorySource } from '../support/sources/memory-source.ts';

let database: TestDatabase;
let gateway: TestGateway;
let silent: Awaited<ReturnType<typeof startSilence>>;
let here: Place;
let collectionId: string;
/** Its check never ends, whatever its signal says. */
const deaf = new MemorySource();

beforeAll(async () => {
  database = await createTestDatabase();
  silent = await startSilence();
  deaf.before = () => new Promise(() => {});
  const sources = new Map([['deaf', deaf]]);
  gateway = await openGateway(database, { EGRESS_ALLOW: silent.origin }, undefined, sources);
  ({ here } = await createPlaces(database));
  collectionId = await new Maker(() => gateway).collection(here);
});
afterAll(async () => {
  await gateway?.close();
  silent?.stop();
  await database?.drop();
});

const send = (path: string, body: object, method = 'POST') =>
  gateway.send({
    method,
    path: `/v1/spaces/${here.spaceId}/collections/${collectionId}/connectors${path}`,
    apiKey: here.apiKey,
    body,
  });
/** An answer, and its time in seconds. */
async function timed<T>(work: Promise<T>): Promise<{ answer: T; seconds: number }> {
  const began = performance.now();
  return { answer: await work, seconds: (performance.now() - began) / 1_000 };
}

const withinTen = expect.toSatisfy((seconds: number) => seconds < 10 + 2 * slack()) as number;
const bodies = {
  'a server that accepts connections and says nothing': () => ({
    provider_slug: 'web',
    scope_config: { start_urls: [silent.origin] },
  }),
  'a source that ignores its signal': () => ({ provider_slug: 'memory', scope_config: { name: 'deaf' } }),
};

it.each(Object.entries(bodies))(
  'a check of %s answers within ten seconds that it is unreachable',
  async (_, body) => {
    expect(await timed(send('/check', body()))).toMatchObject({
      answer: {
        status: 200,
        body: {
          data: {
            ok: false,
            code: 'source_unreachable',
            message: 'The source has not answered within 10 seconds.',
          },
        },
      },
      seconds: withinTen,
    });
  },
);

it('a change that needs a source that says nothing is refused within ten seconds, and changes nothing', async () => {
  const made = await send('', {
    ...bodies['a server that accepts connections and says nothing'](),
    sync_schedule: null,
  });
  const { id, scope_config: before } = made.body.data;
  const path = `${silent.origin}/elsewhere`;
  const change = { scope_config: { start_urls: [path] } };
  expect(await timed(send(`/${id}`, change, 'PATCH'))).toMatchObject({
    answer: { status: 409, body: { error: { code: 'connector_check_failed' } } },
    seconds: withinTen,
  });
  const listed = await gateway.send({
    method: 'GET',
    path: `/v1/spaces/${here.spaceId}/collections/${collectionId}/connectors/${id}`,
    apiKey: here.apiKey,
  });
  expect(listed.body.data.scope_config).toEqual(before);
});
