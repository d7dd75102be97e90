import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEngine, type Engine } from '../support/engine.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';

let engine: Engine;
let gateway: TestGateway;
let url: string;

beforeAll(async () => {
  engine = await openEngine();
  gateway = await openGateway(engine.database);
  url = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await gateway?.close();
  await engine?.stop();
});

const client = () =>
  new OpenAI({
    baseURL: `${url}/api-proxy/v1/spaces/${engine.world.spaceId}/openai`,
    apiKey: engine.world.apiKey,
  });

async function rows(): Promise<string[]> {
  const { rows: found } = await engine.admin.query<{ id: string }>(
    'select id from responses order by created_at, id',
  );
  return found.map(({ id }) => id);
}

/** Waits for the response of a request that has not been answered yet. */
async function next(before: string[]): Promise<string> {
  for (;;) {
    const [id] = (await rows()).filter((each) => !before.includes(each));
    if (id !== undefined) return id;
  }
}

async function answer(id: string, text: string): Promise<void> {
  const attempt = await engine.attempt(id);
  await attempt.say(text);
  await attempt.commit();
}

const asked = { model: 'paid', input: 'Why tides?' };

describe('creating a response with OpenAI’s client', () => {
  it('answers when it ends, and holds no connection of the database meanwhile', async () => {
    const before = await rows();
    const waiting = Array.from({ length: 12 }, () => client().responses.create(asked));
    while ((await rows()).length < before.length + 12);
    // More requests wait than there are connections; if each held one, no read would succeed.
    expect((await client().models.list()).data.length).toBeGreaterThan(0);
    for (const id of (await rows()).filter((each) => !before.includes(each))) {
      await answer(id, `Twice a day, says ${id}.`);
    }
    for (const { id, status, output_text: text } of await Promise.all(waiting)) {
      expect([status, text]).toEqual(['completed', `Twice a day, says ${id}.`]);
    }
  });

  it('answers with an error that names the response when the process cannot wait for its end', async () => {
    const before = await rows();
    const waiting = client().responses.create(asked);
    const id = await next(before);
    while (gateway.gateway.openStreams.size === 0) await new Promise((done) => setTimeout(done, 5));
    gateway.gateway.openStreams.forEach((breakOff) => breakOff());
    await expect(waiting).rejects.toMatchObject({ status: 503, error: { response_id: id } });
  });

  it('answers at once in the background, and may be read, cancelled and deleted', async () => {
    const { id, status } = await client().responses.create({ ...asked, background: true });
    expect(status).toBe('queued');
    expect(await client().responses.cancel(id)).toMatchObject({
      status: 'cancelled',
      incomplete_details: { reason: 'cancelled' },
    });
    expect(await client().responses.cancel(id), 'again').toMatchObject({ status: 'cancelled' });
    expect((await client().responses.retrieve(id)).status).toBe('cancelled');
    await client().responses.delete(id);
    await expect(client().responses.retrieve(id)).rejects.toMatchObject({ code: 'response_deleted' });
  });

  it('makes one response of repeats with one key', async () => {
    const before = await rows();
    const headers = { 'Idempotency-Key': 'once' };
    const create = () => client().responses.create({ ...asked, background: true }, { headers });
    const [first, second] = [await create(), await create()];
    expect(second.id).toBe(first.id);
    expect(await rows()).toHaveLength(before.length + 1);
    await expect(
      client().responses.create({ ...asked, store: false, background: true }, { headers }),
    ).rejects.toMatchObject({ status: 400, code: 'idempotency_key_reused' });
  });

  it('keeps an answer with store: false for ten minutes', async () => {
    const before = await rows();
    const waiting = client().responses.create({ ...asked, store: false });
    await answer(await next(before), 'Twice.');
    const response = (await waiting) as OpenAI.Responses.Response & { expires_at: number };
    expect(response).toMatchObject({ store: false, output_text: 'Twice.' });
    expect(response.expires_at - response.completed_at!).toBe(600);
  });

  it('takes an earlier answer back as input, as their examples do', async () => {
    const before = await rows();
    const waiting = client().responses.create(asked);
    await answer(await next(before), 'Twice a day.');
    const { output } = await waiting;
    const { id } = await client().responses.create({
      model: 'paid',
      background: true,
      input: [
        { role: 'user', content: asked.input },
        ...(output as OpenAI.Responses.ResponseInput),
        { role: 'user', content: [{ type: 'input_text', text: 'At what times?' }] },
      ],
    });
    const items = await client().responses.inputItems.list(id, { order: 'asc' });
    expect(items.data).toMatchObject([
      { role: 'user', content: [{ text: 'Why tides?' }] },
      { role: 'assistant', content: [{ text: 'Twice a day.' }] },
      { role: 'user', content: [{ text: 'At what times?' }] },
    ]);
  });
});

describe('listing with OpenAI’s client', () => {
  it('pages through the input from either end, the newest first by default', async () => {
    const said = ['one', 'two', 'three', 'four', 'five'];
    const { id } = await client().responses.create({
      model: 'paid',
      background: true,
      input: said.map((content) => ({ role: 'user' as const, content })),
    });
    const collect = async (query: OpenAI.Responses.InputItemListParams) => {
      const found: string[] = [];
      for await (const item of client().responses.inputItems.list(id, { limit: 2, ...query })) {
        found.push(JSON.stringify(item).match(/"text":"(\w+)"/)![1]!);
      }
      return found;
    };
    expect(await collect({ order: 'asc' })).toEqual(said);
    expect(await collect({})).toEqual(said.toReversed());
  });

  it('names the models of the space, and one by its alias', async () => {
    const { data } = await client().models.list();
    expect(data.map(({ id, object, owned_by: kind }) => [id, object, kind])).toEqual([
      ['builtin', 'model', 'builtin'],
      ['paid', 'model', 'openai_compatible'],
    ]);
    expect(await client().models.retrieve('paid')).toEqual(data[1]);
  });
});

describe('a reader of the stream', () => {
  it('resumes after its last event, or at the end of an ended response', async () => {
    const { id } = await client().responses.create({ ...asked, background: true });
    await answer(id, 'Twice a day.');
    const numbers = async (after?: number) => {
      const found: number[] = [];
      const query = { stream: true as const, ...(after === undefined ? {} : { starting_after: after }) };
      for await (const event of await client().responses.retrieve(id, query)) {
        found.push(event.sequence_number);
      }
      return found;
    };
    const all = await numbers();
    expect(all).toEqual(all.map((_, n) => n));
    expect(await numbers(3)).toEqual(all.slice(4));
    expect(await numbers(all.length - 1)).toEqual([]);
    await expect(numbers(all.length)).rejects.toMatchObject({ code: 'cursor_out_of_range' });
  });

  it('is kept alive by a line that clients do not take for an event', async () => {
    const { id } = await client().responses.create({ ...asked, background: true });
    const path = `/api/v1/spaces/${engine.world.spaceId}/openai/responses/${id}?stream=true`;
    const leave = new AbortController();
    const { body } = await fetch(url + path, {
      headers: { 'X-API-Key': engine.world.apiKey },
      signal: leave.signal,
    });
    let read = '';
    for await (const chunk of body!) {
      read += Buffer.from(chunk).toString();
      if (read.includes('keep-alive')) break;
    }
    leave.abort();
    expect(read).toMatch(/^retry: 2000\nid: \S+:0\nevent: response.created\ndata: .*\n\n: keep-alive\n$/);
  });

  it('is sent no blank line that is not the end of an event', async () => {
    const { id } = await client().responses.create({ ...asked, background: true });
    await answer(id, 'Twice a day.');
    const stream = await gateway.send({
      method: 'GET',
      path: `/v1/spaces/${engine.world.spaceId}/openai/responses/${id}?stream=true`,
      apiKey: engine.world.apiKey,
    });
    const blocks = stream.text.trimEnd().split('\n\n');
    expect(blocks.every((block) => /^data: /m.test(block))).toBe(true);
    expect(stream.text).toMatch(/^retry: 2000\nid: /);
  });
});
