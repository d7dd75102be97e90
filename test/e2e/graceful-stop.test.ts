import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { readers } from '../support/openai-clients.ts';
import { startStack, type Stack, type StackProcess } from '../support/stack.ts';
import { stopWhileReading } from '../support/stopped-gateway.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

const text = 'Low water, high water, and the hours between them stand in the tables of the harbour. '
  .repeat(12)
  .trim();

let database: TestDatabase;
let models: ModelServer;
let world: World;
let stack: Stack;

beforeAll(async () => {
  models = await startModelServer([
    { name: 'brisk', text, tokenDelayMs: 5 },
    { name: 'slow', text, tokenDelayMs: 200 },
  ]);
  database = await createTestDatabase();
  world = await createWorld(database.unitOfWork, [
    scriptedModel(models, 'brisk'),
    scriptedModel(models, 'slow'),
  ]);
  stack = await startStack({ database, env: { EGRESS_ALLOW: new URL(models.url).origin } });
});
afterAll(async () => {
  await stack?.stop();
  await models?.stop();
  await database?.drop();
});

const native = () => `/api/v1/spaces/${world.spaceId}/responses`;
const openai = () => `/api/v1/spaces/${world.spaceId}/openai/responses`;
const headers = () => ({ 'X-API-Key': world.apiKey, 'Content-Type': 'application/json' });
const openaiBody = (more: object = {}) =>
  JSON.stringify({ model: 'slow', input: 'When?', tools: [], ...more });
const nativeBody = (more: object = {}) =>
  JSON.stringify({ model: 'slow', input: { text: 'When?' }, tools: [], ...more });

describe('a gateway that is stopped while it answers', () => {
  it('finishes responses in its drain where it can, complete for every client', async () => {
    const gateway = await stack.start('gateway', { DRAIN_SECONDS: '20' });
    // A client that resumes by the response's id finds no server at the same address any more.
    const staying = readers.filter(({ name }) => !name.includes('resumed'));
    const target = { apiKey: world.apiKey, model: 'brisk', input: 'When?' };
    const made = await stopWhileReading(gateway, models, {
      readers: staying,
      target,
      spaceId: world.spaceId,
      text,
    });
    expect(made).toEqual(Object.fromEntries(staying.map(({ name }) => [name, 'the whole'])));
  });

  it('cuts off the rest, so that no client takes a part for the whole', async () => {
    const gateway = await stack.start('gateway');
    const raw = { chunked: rawStream(gateway, '1.1'), untilClosed: rawStream(gateway, '1.0') };
    const post = (path: string, body: string, more: Record<string, string> = {}) =>
      fetch(gateway.url + path, { method: 'POST', headers: { ...headers(), ...more }, body });
    const waiting = post(openai(), openaiBody());
    const preferring = post(native(), nativeBody(), { Prefer: 'wait=60' });
    const begun = connect(gateway.port, '127.0.0.1');
    begun.write(`GET ${native()} HTTP/1.1\r\nHost: tides\r\n`);
    const late = closed(begun);
    const made = stopWhileReading(gateway, models, {
      readers,
      target: { apiKey: world.apiKey, model: 'slow', input: 'When?' },
      spaceId: world.spaceId,
      text,
    });
    await expect
      .poll(() =>
        fetch(gateway.url).then(
          () => 'open',
          () => 'closed',
        ),
      )
      .toBe('closed');
    begun.write('\r\n');

    const { received } = await late;
    expect(received).toMatch(/^HTTP\/1\.1 503 [\s\S]*connection: close[\s\S]*"code":"draining"/i);
    expect(await raw.chunked).toMatchObject({ received: expect.not.stringMatching(/0\r\n\r\n$/) as string });
    expect(await raw.untilClosed).toMatchObject({ error: 'ECONNRESET' });
    const refused = await waiting;
    expect([refused.status, await refused.json()]).toMatchObject([
      503,
      { error: { code: 'draining', response_id: expect.stringMatching(/^resp_/) as string } },
    ]);
    expect(Object.fromEntries(refused.headers)).toMatchObject({
      'retry-after': '1',
      'x-should-retry': 'false',
      connection: 'close',
      location: expect.stringMatching(/\/openai\/responses\/resp_/) as string,
    });
    const preferred = await preferring;
    expect([preferred.status, await preferred.json()]).toMatchObject([
      202,
      { data: { status: 'in_progress' } },
    ]);
    expect(await made).toEqual(Object.fromEntries(readers.map(({ name }) => [name, 'an error'])));
  });

  it('loses no character for a client that resumes elsewhere with Last-Event-ID', async () => {
    const gateway = await stack.start('gateway');
    const reader = new ResumingReader();
    const first = fetch(gateway.url + native(), {
      method: 'POST',
      headers: headers(),
      body: nativeBody({ stream: true }),
    });
    const broken = first
      .then((answer) => reader.read(answer))
      .then(
        () => 'ended',
        () => 'broken off',
      );
    await expect.poll(() => reader.text).not.toBe('');
    const atStop = reader.text.length;
    expect(await gateway.stop()).toBe(0);
    expect(await broken).toBe('broken off');
    expect(reader.text.length, 'it went on through the drain').toBeGreaterThan(atStop);

    const response = `${stack.gateways[0]!.url}${native()}/${reader.lastId.split(':')[0]}`;
    await fetch(`${response}/cancel`, { method: 'POST', headers: headers() });
    const resuming = { ...headers(), Accept: 'text/event-stream', 'Last-Event-ID': reader.lastId };
    await reader.read(await fetch(response, { headers: resuming }));
    const kept = (await (await fetch(response, { headers: headers() })).json()) as Kept;
    expect(reader.text).toBe(kept.data.output[0]?.content[0]?.text);
  });
});

interface Kept {
  data: { output: { content: { text: string }[] }[] };
}

/** The bytes of a socket until it was closed, and the error that closed it. */
function closed(socket: Socket): Promise<{ received: string; error: string | null }> {
  let received = '';
  let error: string | null = null;
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  socket.on('error', ({ code }: NodeJS.ErrnoException) => (error = code ?? 'error'));
  return new Promise((resolve) => socket.on('close', () => resolve({ received, error })));
}

/** A client that knows its answer only from the socket. */
function rawStream(gateway: StackProcess, version: '1.0' | '1.1'): ReturnType<typeof closed> {
  const socket = connect(gateway.port, '127.0.0.1');
  const body = openaiBody({ stream: true });
  const head = { ...headers(), Host: 'tides', 'Content-Length': String(Buffer.byteLength(body)) };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST ${openai()} HTTP/${version}\r\n${lines.join('')}\r\n${body}`);
  return closed(socket);
}

/** Joins the parts received over several connections. */
class ResumingReader {
  text = '';
  lastId = '';

  async read({ body }: Response): Promise<void> {
    let received = '';
    for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
      const frames = (received + piece).split('\n\n');
      received = frames.pop() ?? '';
      for (const frame of frames) {
        this.lastId = /^id: (.+)$/m.exec(frame)?.[1] ?? this.lastId;
        const data = /^event: response\.output_text\.delta\ndata: (.+)$/m.exec(frame)?.[1];
        this.text += data === undefined ? '' : (JSON.parse(data) as { delta: string }).delta;
      }
    }
  }
}
