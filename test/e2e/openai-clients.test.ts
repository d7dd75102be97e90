import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startModelServer } from '../support/model-server.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

const text = 'Tides turn twice a day, because the Earth spins under two bulges of water [1]. '
  .repeat(6)
  .trim();

describe('a client of OpenAI', () => {
  let database: TestDatabase;
  let stack: Stack;
  let world: World;
  let models: Awaited<ReturnType<typeof startModelServer>>;

  beforeAll(async () => {
    models = await startModelServer([{ name: 'paced', text, tokenDelayMs: 20 }], {});
    database = await createTestDatabase();
    world = await createWorld(database.unitOfWork, [scriptedModel(models, 'paced')]);
    const origin = new URL(models.url).origin;
    stack = await startStack({ database, workers: 2, env: { EGRESS_ALLOW: origin } });
  });

  afterAll(async () => {
    await stack?.stop();
    await models?.stop();
    await database?.drop();
  });

  const client = () =>
    new OpenAI({
      baseURL: `${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/openai`,
      apiKey: world.apiKey,
    });

  it('iterates over the raw events', async () => {
    let read = '';
    const stream = await client().responses.create({ model: 'paced', input: 'Why tides?', stream: true });
    for await (const event of stream) {
      if (event.type === 'response.output_text.delta') {
        read += event.delta;
      }
    }
    expect(read).toBe(text);
  });

  it('reads the whole answer as JSON', async () => {
    const response = await client().responses.create({ model: 'paced', input: 'Why tides?' });
    expect(response).toMatchObject({ status: 'completed', output_text: text });
  });
});
