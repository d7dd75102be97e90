import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseRecord } from '#domain/responses/response-record.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startModelServer } from '../support/model-server.ts';
import { followResponse } from '../support/sse-recorder.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { checkStream } from '../support/stream-checker.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

const text = 'Tides turn twice a day, because the Earth spins under two bulges of water [1]. '
  .repeat(6)
  .trim();

describe('a durable answer', () => {
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

  const responses = () => `${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/responses`;
  const headers = () => ({ 'X-API-Key': world.apiKey, 'Content-Type': 'application/json' });

  it('goes on from the exact character when its worker is killed in the middle of a sentence', async () => {
    const body = { input: { text: 'Why are there tides?' }, stream: true, tools: [] };
    const kills: Promise<NodeJS.Signals | null>[] = [];
    const recording = await followResponse({
      request: () => ({ url: responses(), method: 'POST', headers: headers(), body }),
      onFrame: (frame) => {
        if (kills.length === 0 && frame.id?.endsWith(':12')) {
          kills.push(...stack.workers.slice(0, 1).map((worker) => worker.kill()));
        }
      },
    });
    expect(await Promise.all(kills)).toEqual(['SIGKILL']);
    const answer = await fetch(`${responses()}/${recording.responseId}`, { headers: headers() });
    const final = (await answer.json()) as { data: ResponseRecord };
    expect(final.data.status).toBe('completed');
    expect(final.data.output.at(-1)).toMatchObject({ type: 'message', content: [{ text }] });
    expect(
      checkStream({
        responseId: recording.responseId!,
        segments: recording.segments,
        final: { ...final.data },
      }),
    ).toEqual([]);
  });
});
