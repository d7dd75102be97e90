import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startModelServer } from '../support/model-server.ts';
import { recordSegment } from '../support/sse-recorder.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { checkStream } from '../support/stream-checker.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

/** About 130 kB: its last events, which repeat the text four times, exceed every socket buffer. */
const text = Array.from({ length: 3_000 }, (_, i) => `Sentence number ${i} differs from the rest.`).join(' ');

describe('a very long answer', () => {
  let database: TestDatabase;
  let stack: Stack;
  let world: World;
  let models: Awaited<ReturnType<typeof startModelServer>>;

  beforeAll(async () => {
    models = await startModelServer([{ name: 'long', text }], {});
    database = await createTestDatabase();
    const model = { ...scriptedModel(models, 'long'), maxOutputTokens: 400_000, contextWindow: 1_000_000 };
    world = await createWorld(database.unitOfWork, [model]);
    stack = await startStack({ database, env: { EGRESS_ALLOW: new URL(models.url).origin } });
  });

  afterAll(async () => {
    await stack?.stop();
    await models?.stop();
    await database?.drop();
  });

  it('reaches a reader whole, live and replayed from the start', async () => {
    const url = `${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/responses`;
    const headers = { 'X-API-Key': world.apiKey };
    const body = { input: { text: 'Go on and on.' }, tools: [], stream: true };
    const live = await recordSegment({ url, method: 'POST', headers, body });
    expect(live.ended).toBe('server');
    const responseId = String(live.headers['x-response-id']);
    const replay = await recordSegment({ url: `${url}/${responseId}?stream=true`, headers });
    expect(replay.ended).toBe('server');
    expect(checkStream({ responseId, segments: [live], replays: [replay.bytes] })).toEqual([]);
    const answer = await fetch(`${url}/${responseId}`, { headers });
    const { data } = (await answer.json()) as { data: { output: { content: { text: string }[] }[] } };
    expect(data.output[0]!.content[0]!.text).toBe(text);
  });
});
