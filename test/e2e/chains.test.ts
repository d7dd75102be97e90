import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startModelServer } from '../support/model-server.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

describe('previous_response_id', () => {
  let database: TestDatabase;
  let stack: Stack;
  let world: World;
  let models: Awaited<ReturnType<typeof startModelServer>>;

  beforeAll(async () => {
    models = await startModelServer(
      [
        { name: 'slow', text: 'The tower is red and very old. It stands by the sea.', tokenDelayMs: 120 },
        { name: 'quick', text: 'As said, it is red.' },
      ],
      {},
    );
    database = await createTestDatabase();
    world = await createWorld(database.unitOfWork, [
      scriptedModel(models, 'slow'),
      scriptedModel(models, 'quick'),
    ]);
    stack = await startStack({ database, env: { EGRESS_ALLOW: new URL(models.url).origin } });
  });

  afterAll(async () => {
    await stack?.stop();
    await models?.stop();
    await database?.drop();
  });

  async function post(body: object, prefer?: string): Promise<{ status: number; json: Answer }> {
    const answer = await fetch(`${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/responses`, {
      method: 'POST',
      headers: {
        'X-API-Key': world.apiKey,
        'Content-Type': 'application/json',
        ...(prefer === undefined ? {} : { Prefer: prefer }),
      },
      body: JSON.stringify(body),
    });
    return { status: answer.status, json: (await answer.json()) as Answer };
  }

  async function ended(id: string): Promise<ResponseRecord> {
    for (;;) {
      const answer = await fetch(`${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/responses/${id}`, {
        headers: { 'X-API-Key': world.apiKey },
      });
      const { data } = (await answer.json()) as { data: ResponseRecord };
      if (data.finished_at !== null) {
        return data;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  it('includes the parent’s input and output in the child’s prompt, in order', async () => {
    const parent = await post({ input: { text: 'Which colour?' }, model: 'quick', tools: [] }, 'wait=20');
    const child = await post(
      {
        input: { text: 'Say it again.' },
        model: 'quick',
        tools: [],
        previous_response_id: parent.json.data!.id,
      },
      'wait=20',
    );
    expect(child.json.data).toMatchObject({
      status: 'completed',
      previous_response_id: parent.json.data!.id,
    });
    const { body } = models.requests.at(-1)!;
    expect((body as { messages: { role: string; content: string }[] }).messages).toEqual([
      { role: 'user', content: 'Which colour?' },
      { role: 'assistant', content: 'As said, it is red.' },
      { role: 'user', content: 'Say it again.' },
    ]);
  });

  it('refuses a running parent, waits for it with enqueue, and ends it with cancel_previous', async () => {
    const parent = await post({ input: { text: 'Tell me of the tower.' }, model: 'slow', tools: [] });
    const previous = { model: 'quick', tools: [], previous_response_id: parent.json.data!.id };
    const refused = await post({ ...previous, input: { text: 'a' } });
    expect([refused.status, refused.json.error?.code]).toEqual([409, 'previous_response_in_progress']);

    const queued = await post({
      ...previous,
      input: { text: 'And its colour?' },
      platform: { on_busy: 'enqueue' },
    });
    expect(queued.json.data?.status).toBe('queued');
    expect(await ended(queued.json.data!.id)).toMatchObject({ status: 'completed' });
    expect((await ended(parent.json.data!.id)).status).toBe('completed');
    const { body } = models.requests.at(-1)!;
    expect((body as { messages: { content: string }[] }).messages.map((message) => message.content)).toEqual([
      'Tell me of the tower.',
      'The tower is red and very old. It stands by the sea.',
      'And its colour?',
    ]);

    const second = await post({ input: { text: 'Once more.' }, model: 'slow', tools: [] });
    const child = await post(
      {
        ...previous,
        previous_response_id: second.json.data!.id,
        input: { text: 'b' },
        platform: { on_busy: 'cancel_previous' },
      },
      'wait=20',
    );
    expect(child.json.data?.status).toBe('completed');
    expect((await ended(second.json.data!.id)).status).toBe('cancelled');
  });
});

interface Answer {
  data?: ResponseRecord;
  error?: { code: string };
}
