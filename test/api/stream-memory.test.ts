import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { openEngine, type Engine } from '../support/engine.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';

const streams = 6;
const bodyBytes = 2_000_000;
/** Screening takes time for long texts, and none for an image. */
const image = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc((bodyBytes * 3) / 4)]);
const content = [{ type: 'input_image', image_url: `data:image/png;base64,${image.toString('base64')}` }];

let engine: Engine;
let gateway: TestGateway;
let port: number;

beforeAll(async () => {
  setFlagsFromString('--expose-gc');
  engine = await openEngine({ inputModalities: ['text', 'image', 'file'] });
  gateway = await openGateway(engine.database);
  port = Number(new URL(await gateway.app.listen({ host: '127.0.0.1', port: 0 })).port);
});
afterAll(async () => {
  setFlagsFromString('--no-expose-gc');
  await gateway?.close();
  await engine?.stop();
});

function heapBytes(): number {
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

/** Sends the request and keeps no copy of it, unlike `fetch`. */
function send(path: string, body: object, headers: string[] = []): Socket {
  const text = JSON.stringify(body);
  const socket = connect(port, '127.0.0.1');
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: tides',
    `X-API-Key: ${engine.world.apiKey}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
    ...headers,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${text}`);
  return socket;
}

/** Resolves when the stream has begun. */
async function openStream(path: string, body: object): Promise<Socket> {
  const socket = send(path, body);
  let received = '';
  await new Promise<void>((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => {
      received = (received + chunk.toString()).slice(0, 4_000);
      if (received.includes('retry: 2000')) resolve();
    });
    socket.on('close', () => reject(new Error(received)));
  });
  return socket;
}

/** Resolves when the request waits for its answer. */
async function openWait(path: string, body: object): Promise<Socket> {
  const open = gateway.gateway.openStreams.size;
  const socket = send(path, body, ['Prefer: wait=60']);
  await expect.poll(() => gateway.gateway.openStreams.size, { timeout: 20_000 }).toBe(open + 1);
  return socket;
}

const surfaces: [string, string, object][] = [
  ['the native surface', 'responses', { input: { items: [{ type: 'message', role: 'user', content }] } }],
  ['the surface for OpenAI’s clients', 'openai/responses', { input: [{ role: 'user', content }] }],
];
const ways: [string, object, typeof openStream][] = [
  ['stream', { stream: true }, openStream],
  ['wait', {}, openWait],
];

it.each(ways.flatMap(([way, form, begin]) => surfaces.map((surface) => ({ way, form, begin, surface }))))(
  'a $way of $surface.0 keeps nothing of the request in memory',
  async ({ form, begin, surface: [, surface, asked] }) => {
    const path = `/api/v1/spaces/${engine.world.spaceId}/${surface}`;
    const open: Socket[] = [];
    onTestFinished(async () => {
      open.forEach((socket) => socket.destroy());
      await expect.poll(() => gateway.gateway.openStreams.size, { timeout: 20_000 }).toBe(0);
    });
    const more = async () =>
      void open.push(await begin(path, { model: 'paid', tools: [], ...form, ...asked }));
    await more();
    const before = heapBytes();
    for (let i = 0; i < streams; i += 1) await more();
    // The last request may still be on its way through the gateway.
    await expect.poll(() => (heapBytes() - before) / streams).toBeLessThan(bodyBytes / 10);
  },
);
