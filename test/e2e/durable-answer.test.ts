import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { holderOf } from '../support/holder.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { ResponsesClient, textOf } from '../support/responses-client.ts';
import { splitFrames } from '../support/sse-frames.ts';
import { followResponse, recordSegment } from '../support/sse-recorder.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { checkStream } from '../support/stream-checker.ts';
import type { Json } from '../support/stream-events.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

// A repeated sentence would be taken for a repeat by the model.
const text = Array.from(
  { length: 8 },
  (_, i) => `Tide ${i * 12 + 5} turns because the Earth spins under two bulges of water [1].`,
).join(' ');
const scripts = ['paced', 'cannot-go-on'].map((name) => ({ name, text, tokenDelayMs: 20 }));

describe('a durable answer', () => {
  let database: TestDatabase;
  let stack: Stack;
  let world: World;
  let models: ModelServer;
  let client: ResponsesClient;

  beforeAll(async () => {
    models = await startModelServer(scripts);
    database = await createTestDatabase();
    world = await createWorld(database.unitOfWork, [
      scriptedModel(models, 'paced'),
      scriptedModel(models, 'cannot-go-on', 'none'),
    ]);
    const origin = new URL(models.url).origin;
    stack = await startStack({ database, workers: 2, env: { EGRESS_ALLOW: origin } });
    client = new ResponsesClient(world, () => stack.gateways[0]!);
  });

  afterAll(async () => {
    await stack?.stop();
    await models?.stop();
    await database?.drop();
  });

  /** Follows a response whose worker is killed once readers have about ten pieces of its text. */
  async function withKill(model: string): Promise<{ record: ResponseRecord; events: Json[] }> {
    const kills: Promise<NodeJS.Signals | null>[] = [];
    const kill = async (responseId: string) => {
      const holder = await holderOf(stack, { tenantId: world.tenantId, responseId });
      stack.workers.splice(stack.workers.indexOf(holder), 1);
      return holder.kill();
    };
    const { responseId, segments } = await followResponse({
      request: () => ({
        url: client.url(),
        method: 'POST',
        headers: client.headers,
        body: {
          input: { text: 'Why are there tides?' },
          model,
          stream: true,
          tools: [],
        },
      }),
      onFrame: ({ id }) => {
        if (kills.length === 0 && id?.endsWith(':12')) kills.push(kill(id.split(':')[0]!));
      },
    });
    expect(await Promise.all(kills)).toEqual(['SIGKILL']);
    const record = await client.read(responseId!);
    const again = await recordSegment({
      url: client.url(`/${responseId}?stream=true`),
      headers: client.headers,
    });
    const final = { ...record } as unknown as Json;
    expect(checkStream({ responseId: responseId!, segments, final, replays: [again.bytes] })).toEqual([]);
    expect(record).toMatchObject({ status: 'completed', platform: { attempts: 2 } });
    const frames = segments.flatMap(({ bytes }) => splitFrames(bytes).frames);
    return { record, events: frames.flatMap(({ json }): Json[] => (json === undefined ? [] : [json])) };
  }

  const asked = (script: string) =>
    models.requests.filter((each) => each.script === script).map(({ strategy }) => strategy);

  it('continues from the exact character when its worker is killed in the middle of a sentence', async () => {
    const { record } = await withKill('paced');
    expect(record.output).toMatchObject([{ type: 'message', status: 'completed', content: [{ text }] }]);
    expect(asked('paced')).toEqual(['fresh', 'instruct']);
  });

  it('is generated again by a model that cannot continue: readers see the first half closed, the record has the whole answer only', async () => {
    // Recovery is promised when a second worker is running.
    await stack.start('worker');
    const { record, events } = await withKill('cannot-go-on');
    expect(record.output).toMatchObject([{ type: 'message', status: 'completed', content: [{ text }] }]);
    expect(record.output[0]).not.toHaveProperty('platform');
    expect(asked('cannot-go-on')).toEqual(['fresh', 'fresh']);
    const [half, whole, ...more] = events
      .filter(({ type }) => type === 'response.output_item.done')
      .map(({ output_index, item }): Json => ({ output_index, ...(item as Json) }));
    expect(more).toEqual([]);
    expect(half).toMatchObject({
      output_index: 0,
      status: 'incomplete',
      platform: { superseded_by: whole!['id'] },
    });
    expect(whole).toEqual({ output_index: 1, ...record.output[0] });
    const shown = textOf({ output: [half as unknown as ResponseRecord['output'][number]] });
    expect(text.startsWith(shown) && shown.length > 0 && shown.length < text.length).toBe(true);
    // The abandoned half was generated, so it is paid for beside the whole answer.
    const { usage } = (
      await client.create(
        { input: { text: 'Why are there tides?' }, model: 'cannot-go-on', tools: [] },
        { Prefer: 'wait=30' },
      )
    ).data;
    expect(record.usage.output_tokens).toBeGreaterThan(usage.output_tokens);
    expect(record.usage.input_tokens).toBeGreaterThan(usage.input_tokens);
  });
});
