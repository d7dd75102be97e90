import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimCall } from '#domain/responses/calls/claim-call.ts';
import { closeResponse } from '#domain/responses/end/close-response.ts';
import { commitCall } from '#domain/responses/calls/commit-call.ts';
import { openEngine, search, type Engine } from '../support/engine.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { openResponsesEvent, openResponsesResource, problemsOf } from '../support/open-responses-schema.ts';
import { splitFrames } from '../support/sse-frames.ts';

let engine: Engine;
let gateway: TestGateway;

beforeAll(async () => {
  engine = await openEngine();
  gateway = await openGateway(engine.database);
});
afterAll(async () => {
  await gateway?.close();
  await engine?.stop();
});

const send = (method: string, path: string, body?: object): Promise<Answer> =>
  gateway.send({
    method,
    path: `/v1/spaces/${engine.world.spaceId}/${path}`,
    apiKey: engine.world.apiKey,
    ...(body === undefined ? {} : { body }),
  });

async function created(more: object = {}): Promise<string> {
  const { status, body } = await send('POST', 'openai/responses', {
    input: 'Why tides?',
    background: true,
    ...more,
  });
  expect([status, body.status]).toEqual([200, 'queued']);
  return body.id as string;
}

async function searched(id: string): Promise<void> {
  await (await engine.attempt(id)).commit({ calls: [search('tides')], reason: 'tool_calls' });
  const { tenantId } = engine.world;
  const key = { tenantId, responseId: id, iteration: 0, callIndex: 0 };
  await claimCall(engine.database, key);
  const outcome = {
    outcome: 'succeeded',
    result: '{"results":[]}',
    end: { status: 'completed', output: '', results: null },
  } as const;
  await commitCall(engine.database, key, outcome);
}

const states: Record<string, () => Promise<string>> = {
  queued: () => created(),
  in_progress: async () => {
    const id = await created();
    await (await engine.attempt(id)).say('Half an ans');
    return id;
  },
  completed: async () => {
    const id = await created({
      instructions: 'Be brief.',
      metadata: { topic: 'sea' },
      text: { format: { type: 'json_schema', name: 'tide', schema: { type: 'object' } } },
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'file_search' }] },
    });
    await searched(id);
    const attempt = await engine.attempt(id, 1);
    await attempt.say('{"per_day":2}');
    await attempt.commit();
    return id;
  },
  incomplete: async () => {
    const id = await created({ tool_choice: { type: 'file_search' } });
    const attempt = await engine.attempt(id);
    await attempt.say('Twice a d');
    await attempt.commit({ reason: 'length' });
    return id;
  },
  failed: async () => {
    const id = await created({ tools: [] });
    await (await engine.attempt(id)).say('Twi');
    const { tenantId } = engine.world;
    await engine.database.unitOfWork.inTenant(tenantId, (em) =>
      closeResponse(em, id, { kind: 'failed', code: 'model_timeout' }),
    );
    return id;
  },
  cancelled: async () => {
    const id = await created();
    await (await engine.attempt(id)).say('Twice');
    expect((await send('POST', `openai/responses/${id}/cancel`)).body.status).toBe('cancelled');
    return id;
  },
};

const ends = ['completed', 'incomplete', 'failed', 'cancelled'];

const streamOf = async (id: string): Promise<string> =>
  (await send('GET', `openai/responses/${id}?stream=true`)).text;

const eventsIn = (stream: string) =>
  splitFrames(Buffer.from(stream)).frames.flatMap(({ id, event, json }) =>
    json === undefined ? [] : [{ id, event, json }],
  );

describe.each(Object.entries(states))('a response that is %s', (status, make) => {
  it('is an object of Open Responses, whole', async () => {
    const id = await make();
    const { body } = await send('GET', `openai/responses/${id}`);
    expect(body).toMatchObject({ id, status });
    expect(problemsOf(openResponsesResource, body)).toEqual([]);
    const { status: native } = (await send('GET', `responses/${id}`)).body.data;
    expect(native).toBe(status);
  });
});

describe.each(ends)('the stream of a response that is %s', (status) => {
  it('has events of Open Responses only, numbered as they are stored', async () => {
    const id = await states[status]!();
    const stream = await streamOf(id);
    const events = eventsIn(stream);
    for (const { event, json } of events) {
      expect(problemsOf(openResponsesEvent, json), JSON.stringify(json)).toEqual([]);
      expect(json.type).toBe(event);
    }
    const stored = await engine.events(id);
    expect(events.map((each) => each.id)).toEqual(stored.map((_, n) => `${id}:${n}`));
    expect(events.map(({ json }) => json.type)).toEqual(
      stored.map(({ type }) => (type === 'response.cancelled' ? 'response.incomplete' : type)),
    );
    expect(events.at(-1)?.json.response).toEqual((await send('GET', `openai/responses/${id}`)).body);
    expect(stream.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('is the same byte for byte for every reader, and behind any cursor its rest', async () => {
    const id = await states[status]!();
    const stream = await streamOf(id);
    expect(await streamOf(id)).toBe(stream);
    const rest = (await send('GET', `openai/responses/${id}?stream=true&starting_after=2`)).text;
    expect(stream.endsWith(rest.replace(/^retry: 2000\n/, ''))).toBe(true);
    expect(eventsIn(rest)[0]?.id).toBe(`${id}:3`);
  });
});

describe('the surface', () => {
  it('shows the request as it was resolved', async () => {
    const { body } = await send('GET', `openai/responses/${await states['completed']!()}`);
    expect(body as OpenAI.Responses.Response).toMatchObject({
      instructions: 'Be brief.',
      metadata: { topic: 'sea' },
      text: { format: { type: 'json_schema', name: 'tide', schema: { type: 'object' }, strict: false } },
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'file_search' }] },
      tools: [{ type: 'file_search', vector_store_ids: [] }],
      background: true,
      store: true,
      output: [{ type: 'file_search_call' }, { type: 'message', role: 'assistant' }],
      usage: {
        input_tokens: 200,
        input_tokens_details: { cached_tokens: 80 },
        output_tokens: 40,
        total_tokens: 240,
      },
    });
  });

  it('reports queueing with an event that clients know', async () => {
    const parent = await engine.create();
    const child = await engine.create({ previousResponseId: parent, onBusy: 'enqueue' });
    await send('POST', `responses/${child}/cancel`);
    const events = eventsIn(await streamOf(child));
    expect(events.map(({ event }) => event)).toEqual([
      'response.created',
      'response.queued',
      'response.incomplete',
    ]);
    expect(events.flatMap(({ json }) => problemsOf(openResponsesEvent, json))).toEqual([]);
  });

  it('never shows an event that is only ours, and keeps the numbers of the others', async () => {
    const id = await engine.create({ streamEvents: true });
    await (await engine.attempt(id)).say('Twice a day.');
    await (await engine.attempt(id)).commit();
    const stored = await engine.events(id);
    const others = stored.filter(({ type }) => !String(type).startsWith('platform.'));
    expect(others.length).toBeLessThan(stored.length);
    expect(eventsIn(await streamOf(id)).map((each) => each.id)).toEqual(
      others.map((event) => `${id}:${Number(event['sequence_number'])}`),
    );
  });

  it('is checked by a schema that rejects incomplete objects and events', async () => {
    const { body } = await send('GET', `openai/responses/${await states['failed']!()}`);
    const { usage: _, ...lacking } = body;
    expect(problemsOf(openResponsesResource, lacking)).not.toEqual([]);
    expect(problemsOf(openResponsesResource, { ...body, error: null })).not.toEqual([]);
    expect(problemsOf(openResponsesEvent, { type: 'response.cancelled', sequence_number: 1 })).not.toEqual(
      [],
    );
  });
});
