import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Fleet } from '../kill/fleet.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { holderOf } from '../support/holder.ts';
import { startModelServer } from '../support/model-server.ts';
import { readers as jsReaders, type Reader } from '../support/openai-clients.ts';
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
const share = 0.3;
const python = await pythonReaders();
const readers: Reader[] = [...jsReaders, ...python.readers];

let database: TestDatabase;
let admin: Client;
let stack: Stack;
let fleet: Fleet;
let world: World;
let models: Awaited<ReturnType<typeof startModelServer>>;

beforeAll(async () => {
  models = await startModelServer([{ name: 'paced', text, tokenDelayMs: 20 }], {});
  database = await createTestDatabase();
  admin = new Client({ connectionString: database.adminUrl });
  await admin.connect();
  world = await createWorld(database.unitOfWork, [scriptedModel(models, 'paced')]);
  const origin = new URL(models.url).origin;
  stack = await startStack({ database, workers: 2, env: { EGRESS_ALLOW: origin } });
  fleet = new Fleet(stack);
});

afterAll(async () => {
  await fleet?.settle();
  await stack?.stop();
  await models?.stop();
  await admin?.end();
  await database?.drop();
});

const target = () => ({
  baseURL: `${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/openai`,
  apiKey: world.apiKey,
  model: 'paced',
  input: 'Why are there tides?',
});

async function responseIds(): Promise<string[]> {
  const { rows } = await admin.query<{ id: string }>('select id from responses order by created_at, id');
  return rows.map(({ id }) => id);
}

/** SIGKILL to the worker that writes the newest response; the other one is left to go on, and a new one starts. */
async function killWriter(): Promise<NodeJS.Signals | null> {
  const responseId = (await responseIds()).at(-1)!;
  return fleet.kill(await holderOf(stack, { tenantId: world.tenantId, responseId }));
}

/** Once the client has given out so much of the text; for one that waits for JSON, once the model has written it. */
function whenReadBy({ waits = false }: Reader): {
  heard(piece: string): void;
  reached: Promise<void>;
  stop(): void;
} {
  const { promise: reached, resolve } = Promise.withResolvers<void>();
  const seen = models.requests.length;
  let read = 0;
  const watch = setInterval(() => {
    const written = models.requests[seen]?.streamed.length ?? 0;
    if (waits && written > text.length * (share + 0.1)) resolve();
  }, 10);
  return {
    heard: (piece) => {
      read += piece.length;
      if (read >= text.length * share) resolve();
    },
    reached,
    stop: () => clearInterval(watch),
  };
}

const ends = ['completed', 'stop'];

it('every client reads exactly what the model says, all at once, each from one response', async () => {
  const before = await responseIds();
  const told = await Promise.all(readers.map((reader) => reader.read(target(), () => undefined)));
  for (const [i, { name }] of readers.entries()) {
    expect(told[i]!.text, name).toBe(text);
    expect(ends, name).toContain(told[i]!.end);
  }
  expect(await responseIds()).toHaveLength(before.length + readers.length);
});

describe.each(readers)('$name', (reader) => {
  // A killed one leaves its successor a moment: recovery is promised with a second worker standing by.
  beforeEach(() => fleet.untilReady('worker', 2));

  it('reads exactly that when the worker is killed at 30 % of it', async () => {
    const before = await responseIds();
    const mark = whenReadBy(reader);
    const reading = reader.read(target(), (piece) => mark.heard(piece));
    await Promise.race([mark.reached, reading]);
    mark.stop();
    expect(await killWriter()).toBe('SIGKILL');
    const told = await reading;
    expect(told.text).toBe(text);
    expect(ends).toContain(told.end);
    const after = await responseIds();
    expect(after).toHaveLength(before.length + 1);
    const { rows } = await admin.query<{ attempts: number }>('select attempts from responses where id = $1', [
      after.at(-1),
    ]);
    expect(rows[0]?.attempts, 'the kill fell into the work').toBeGreaterThan(1);
  });
});

if (python.missing !== null) {
  describe(`Python's openai (${python.missing})`, () => {
    it.skip('is not tried');
  });
}
