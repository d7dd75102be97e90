import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import type { Reader } from '../support/openai-clients.ts';
import { frameworkReaders, pythonReaders } from '../support/python-openai.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { stopWhileReading } from '../support/stopped-gateway.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

const text = 'Low water, high water, and the hours between them stand in the tables of the harbour. '
  .repeat(12)
  .trim();

let database: TestDatabase;
let models: ModelServer;
let world: World;
let stack: Stack;
let readers: Reader[];

beforeAll(async () => {
  const openai = await pythonReaders();
  expect(openai.missing).toBeNull();
  readers = [...openai.readers, ...(await frameworkReaders())];
  models = await startModelServer([
    { name: 'brisk', text, tokenDelayMs: 20 },
    { name: 'slow', text, tokenDelayMs: 300 },
  ]);
  database = await createTestDatabase();
  world = await createWorld(database.unitOfWork, [
    scriptedModel(models, 'brisk'),
    scriptedModel(models, 'slow'),
  ]);
  stack = await startStack({ database, env: { EGRESS_ALLOW: new URL(models.url).origin } });
}, 300_000);
afterAll(async () => {
  await stack?.stop();
  await models?.stop();
  await database?.drop();
});

const target = (model: string) => ({ apiKey: world.apiKey, model, input: 'When?' });
const all = (made: string) => Object.fromEntries(readers.map(({ name }) => [name, made]));

/** An openai client that resumes by the response's id finds no server at a stopped gateway's address. */
const staying = () => readers.filter(({ name }) => !name.includes('resumed'));

describe('Python clients with their default options', () => {
  it('read exactly what the model says', async () => {
    const baseURL = `${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/openai`;
    const received = await Promise.all(
      readers.map((reader) => reader.read({ ...target('brisk'), baseURL }, () => undefined)),
    );
    expect(Object.fromEntries(readers.map(({ name }, i) => [name, received[i]!.text]))).toEqual(all(text));
    expect(received.map(({ end }) => end)).toEqual(readers.map(() => 'completed'));
  }, 120_000);

  it('receive a complete answer when the stopped gateway can finish it in its drain', async () => {
    const gateway = await stack.start('gateway', { DRAIN_SECONDS: '40' });
    const asked = { readers: staying(), target: target('brisk'), spaceId: world.spaceId, text };
    const made = await stopWhileReading(gateway, models, asked);
    expect(made).toEqual(Object.fromEntries(staying().map(({ name }) => [name, 'the whole'])));
  }, 180_000);

  it('raise an error where the rest is cut off, and take no part for the whole', async () => {
    const gateway = await stack.start('gateway');
    const asked = { readers, target: target('slow'), spaceId: world.spaceId, text };
    expect(await stopWhileReading(gateway, models, asked)).toEqual(all('an error'));
  }, 180_000);
});
