import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { ResponsesClient, textOf } from '../support/responses-client.ts';
import { splitFrames } from '../support/sse-frames.ts';
import { recordSegment, type Segment } from '../support/sse-recorder.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { checkStream } from '../support/stream-checker.ts';
import type { Json } from '../support/stream-events.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

const text = 'A request that is sent again is the same request. '.repeat(8).trim();

describe('a POST that is sent again', () => {
  let database: TestDatabase;
  let models: ModelServer;
  let world: World;
  let stack: Stack;
  let client: ResponsesClient;

  beforeAll(async () => {
    models = await startModelServer([{ name: 'paced', text, tokenDelayMs: 15 }]);
    database = await createTestDatabase();
    world = await createWorld(database.unitOfWork, [scriptedModel(models, 'paced')]);
    stack = await startStack({ database, env: { EGRESS_ALLOW: new URL(models.url).origin } });
    client = new ResponsesClient(world, () => stack.gateways[0]!);
  });

  afterAll(async () => {
    await stack?.stop();
    await models?.stop();
    await database?.drop();
  });

  const body = { input: { text: 'Go.' }, tools: [], stream: true };
  const post = (cursor: string | null, options: { key?: string; body?: Json; stopAfter?: number } = {}) =>
    recordSegment(
      {
        url: client.url(),
        method: 'POST',
        headers: { ...client.headers, ...(options.key && { 'Idempotency-Key': options.key }) },
        body: options.body ?? body,
      },
      { cursor, ...(options.stopAfter && { stopAfter: options.stopAfter }) },
    );
  const lastId = (segment: Segment) => splitFrames(segment.bytes).frames.findLast(({ id }) => id)!.id!;
  const refusal = (segment: Segment) =>
    (JSON.parse(Buffer.from(segment.bytes).toString()) as { error: Json }).error;
  const countOf = async () => (await client.call<unknown[]>('?limit=100')).data.length;

  async function expectOneWhole(segments: Segment[]): Promise<void> {
    const responseId = lastId(segments[0]!).split(':')[0]!;
    const final = await client.read(responseId);
    expect(textOf(final)).toBe(text);
    expect(checkStream({ responseId, segments, final: final as unknown as Json })).toEqual([]);
  }

  it('with a cursor that names its response continues from there, without a second run', async () => {
    const first = await post(null, { stopAfter: 9 });
    const before = await countOf();
    const second = await post(lastId(first), { stopAfter: 7 });
    const third = await post(lastId(second));
    expect(third.headers['idempotent-replayed']).toBe('true');
    expect(splitFrames(second.bytes).frames.find(({ id }) => id)!.id).toBe(
      `${lastId(first).split(':')[0]}:9`,
    );
    expect(await countOf()).toBe(before);
    await expectOneWhole([first, second, third]);
  });

  it('with a bare cursor needs its key, and continues with it', async () => {
    const first = await post(null, { key: 'bare', stopAfter: 6 });
    const bare = lastId(first).split(':')[1]!;
    const without = await post(bare);
    expect(without.status).toBe(422);
    expect(refusal(without)).toMatchObject({ code: 'cursor_without_response', param: 'Last-Event-ID' });
    const second = await post(bare, { key: 'bare' });
    await expectOneWhole([first, { ...second, cursor: lastId(first) }]);
  });

  it('with its key alone gets the same stream from its beginning', async () => {
    const first = await post(null, { key: 'alone' });
    const again = await post(null, { key: 'alone' });
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(Buffer.from(again.bytes).equals(Buffer.from(first.bytes))).toBe(true);
    const other = await post(null, { key: 'alone', body: { ...body, input: { text: 'Else.' } } });
    expect(other.status).toBe(422);
    expect(refusal(other)).toMatchObject({ code: 'idempotency_key_reused' });
  });

  it('with a cursor of another request, of nothing, or beyond the end is refused and runs nothing', async () => {
    const first = await post(null);
    const before = await countOf();
    const id = lastId(first);
    const cases: [Segment, string][] = [
      [await post(id, { body: { ...body, input: { text: 'Else.' } } }), 'invalid_cursor'],
      [await post('resp_unknown:3'), 'invalid_cursor'],
      [await post('not a cursor'), 'invalid_cursor'],
      [await post(`${id.split(':')[0]}:99999`), 'cursor_out_of_range'],
    ];
    for (const [segment, code] of cases) {
      expect(segment.status).toBe(422);
      expect(refusal(segment)).toMatchObject({ code });
    }
    expect(await countOf()).toBe(before);
  });
});
