import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFileTemporal, temporaryFolder } from '../kill/deployment.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { ResponsesClient, textOf } from '../support/responses-client.ts';
import { followResponse } from '../support/sse-recorder.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { checkStream } from '../support/stream-checker.ts';
import type { Json } from '../support/stream-events.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

const text = Array.from({ length: 40 }, (_, i) => `Sentence ${i * 31 + 7} outlives the engine.`).join(' ');

describe('an engine that loses its runs', () => {
  const folder = temporaryFolder();
  let temporal: Awaited<ReturnType<typeof startFileTemporal>>;
  let database: TestDatabase;
  let models: ModelServer;
  let world: World;
  let stack: Stack;
  let client: ResponsesClient;

  beforeAll(async () => {
    temporal = await startFileTemporal(folder.path);
    models = await startModelServer([
      { name: 'slow', text, tokenDelayMs: 40 },
      { name: 'hung', text, fail: [{ hangAfterChars: 30 }] },
    ]);
    database = await createTestDatabase();
    world = await createWorld(database.unitOfWork, [
      scriptedModel(models, 'hung'),
      scriptedModel(models, 'slow'),
    ]);
    stack = await startStack({
      database,
      temporalAddress: temporal.current.address,
      namespace: 'default',
      env: { EGRESS_ALLOW: new URL(models.url).origin },
    });
    client = new ResponsesClient(world, () => stack.gateways[0]!);
  });

  afterAll(async () => {
    await stack?.stop();
    await models?.stop();
    await database?.drop();
    await temporal?.stop();
    folder.remove();
  });

  const handleOf = (id: string) => stack.temporal.workflow.getHandle(`response/${world.tenantId}/${id}`);

  it('a workflow terminated by an operator fails its response within a minute', async () => {
    const { data } = await client.create({ input: { text: 'Go.' }, model: 'hung', tools: [] });
    await client.writing(data.id);
    await handleOf(data.id).terminate('by an operator');
    const ended = await client.ended(data.id, 60_000);
    expect(ended.status).toBe('failed');
    expect(ended.platform.failure_reason).toMatchObject({ code: 'internal_error' });
    expect(ended.output).toMatchObject([{ type: 'message', status: 'incomplete' }]);
  });

  it('answers are finished to the character after Temporal has lost its whole storage', async () => {
    const recordings = Array.from({ length: 3 }, (_, i) =>
      followResponse({
        request: () => ({
          url: client.url(),
          method: 'POST',
          headers: { ...client.headers, 'Idempotency-Key': `storage-${i}` },
          body: { input: { text: `Go ${i}.` }, model: 'slow', tools: [], stream: true },
        }),
        timeoutMs: 90_000,
      }),
    );
    const running = await untilThreeRun();
    await temporal.killAndRestart(() => {
      for (const suffix of ['', '-wal', '-shm', '-journal'])
        rmSync(`${join(folder.path, 'temporal.db')}${suffix}`, { force: true });
    });
    for (const recording of await Promise.all(recordings)) {
      const final = await client.read(recording.responseId!);
      expect(final.status).toBe('completed');
      expect(textOf(final)).toBe(text);
      const { segments } = recording;
      expect(checkStream({ responseId: final.id, segments, final: final as unknown as Json })).toEqual([]);
    }
    expect(running).toHaveLength(3);
    // Upkeep runs again as well, so that the next loss is detected, too.
    const upkeep = await stack.temporal.workflow.getHandle('upkeep/reconcileResponses').describe();
    expect(upkeep.status.name).toBe('RUNNING');
  });

  async function untilThreeRun(): Promise<unknown[]> {
    for (let tries = 0; tries < 200; tries += 1) {
      const { data } = await client.call<{ id: string }[]>('?status=in_progress&limit=10');
      if (data.length === 3) {
        await Promise.all(data.map(({ id }) => client.writing(id)));
        return data;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error('The responses did not begin.');
  }
}, 200_000);
