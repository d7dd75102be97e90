import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startModelServer } from '../support/model-server.ts';
import { readers as jsReaders, type Reader, type Received } from '../support/openai-clients.ts';
import { pythonReaders } from '../support/python-openai.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

const text = [
  'The sea rises and falls twice a day — the Moon pulls harder on the near side of the Earth than on the far one [1].',
  'Two bulges of water are the outcome, and the ground turns underneath them once in twenty-four hours 🌊.',
  'When the Sun stands in line with the Moon, at new and at full moon, both pull together: spring tide.',
  'At half moon they pull across each other, so that high water stays low and low water high: neap tide.',
  'Because the Moon moves on while the Earth turns, each high water comes about fifty minutes later than a day before.',
  'Harbours print these hours in tables, since a ship with a deep keel must know when the bar is covered.',
  'Coasts change the rest: a funnel such as the Bay of Fundy lifts the range to sixteen metres.',
].join(' ');
/** Text read before the worker is killed. */
const mark = 0.3 * text.length;
const python = await pythonReaders();
const readers: Reader[] = [...jsReaders, ...python.readers];

let database: TestDatabase;
let admin: Client;
let stack: Stack;
let world: World;
let models: Awaited<ReturnType<typeof startModelServer>>;

beforeAll(async () => {
  models = await startModelServer([
    { name: 'paced', text, tokenDelayMs: 10 },
    // In mid-text until its worker is killed, however long the next one takes to start.
    { name: 'held', text, tokenDelayMs: 10, fail: [{ onAttempt: 1, hangAfterChars: mark }] },
  ]);
  database = await createTestDatabase();
  admin = new Client({ connectionString: database.adminUrl });
  await admin.connect();
  world = await createWorld(database.unitOfWork, [
    scriptedModel(models, 'paced'),
    scriptedModel(models, 'held'),
  ]);
  const origin = new URL(models.url).origin;
  stack = await startStack({ database, env: { EGRESS_ALLOW: origin } });
});

afterAll(async () => {
  await stack?.stop();
  await models?.stop();
  await admin?.end();
  await database?.drop();
});

const target = (model: 'paced' | 'held', input = 'Why are there tides?') => ({
  baseURL: `${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/openai`,
  apiKey: world.apiKey,
  model,
  input,
});

async function responseIds(): Promise<string[]> {
  const { rows } = await admin.query<{ id: string }>('select id from responses order by created_at, id');
  return rows.map(({ id }) => id);
}

const ends = ['completed', 'stop'];

it('every client reads exactly the model’s text, all at once, each from one response', async () => {
  const before = await responseIds();
  const received = await Promise.all(readers.map((reader) => reader.read(target('paced'), () => undefined)));
  for (const [i, { name }] of readers.entries()) {
    expect(received[i]!.text, name).toBe(text);
    expect(ends, name).toContain(received[i]!.end);
  }
  expect(await responseIds()).toHaveLength(before.length + readers.length);
});

describe('when the worker is killed at 30 % of it', () => {
  let before: string[];
  let received: Promise<Received>[];

  beforeAll(async () => {
    before = await responseIds();
    const arrived = new Map<Reader, number>();
    received = readers.map((reader) =>
      reader.read(target('held', `What does ${reader.name} read?`), (piece) =>
        arrived.set(reader, (arrived.get(reader) ?? 0) + piece.length),
      ),
    );
    received.forEach((reading) => void reading.catch(() => undefined));
    // A piece has twelve characters at most; clients that wait output nothing before the end.
    const reached = (length: number) => length > mark - 12;
    const written = () =>
      models.requests.filter(({ script, streamed }) => script === 'held' && reached(streamed.length)).length;
    const behind = () =>
      readers
        .filter((reader) => reader.waits !== true && !reached(arrived.get(reader) ?? 0))
        .map(({ name }) => name);
    await vi.waitUntil(() => written() === readers.length && behind().length === 0, { timeout: 60_000 });
    // Recovery is promised when a second worker is running.
    const [victim] = stack.workers.splice(0);
    await stack.start('worker');
    expect(await victim!.kill()).toBe('SIGKILL');
  });

  it.each(readers.map((reader, i) => ({ name: reader.name, i })))(
    '$name reads exactly that text',
    async ({ i }) => {
      const { text: read, end } = await received[i]!;
      expect(read).toBe(text);
      expect(ends).toContain(end);
    },
  );

  it('each reads one response, and the kill fell into the work on it', async () => {
    const after = await responseIds();
    expect(after).toHaveLength(before.length + readers.length);
    const { rows } = await admin.query<{ attempts: number }>(
      'select attempts from responses where not id = any ($1)',
      [before],
    );
    expect(rows.filter(({ attempts }) => attempts < 2)).toEqual([]);
  });
});

if (python.missing !== null) {
  describe(`Python's openai (${python.missing})`, () => {
    it.skip('is skipped');
  });
}
