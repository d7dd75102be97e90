import { connect, type AddressInfo, type Socket } from 'node:net';
import { fastify, type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limitArrival, withIdleLimit } from '#api/plugins/arrival.ts';

let app: FastifyInstance;

beforeAll(async () => {
  app = fastify();
  limitArrival(app, { bodyMs: 300 });
  app.post('/json', async () => ({ ok: true }));
  await app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(async () => app.close());

const head = (length: number) =>
  `POST /json HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

function send(text: string): { socket: Socket; closed: Promise<string> } {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8').on('data', (piece: string) => (received += piece));
  socket.on('error', () => {});
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)));
  socket.write(text);
  return { socket, closed };
}

describe('the limit on the arrival of a request', () => {
  it('answers 408 to a body that does not come, and closes the connection', async () => {
    const answer = await send(`${head(10)}{"a"`).closed;
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toContain('"code":"request_timeout"');
  });

  it('does not count the time after the body', async () => {
    const { socket, closed } = send(`${head(2)}{}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
    socket.end();
    expect(await closed).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('withIdleLimit', () => {
  it('passes what comes in time, however long its consumer takes', async () => {
    async function* source() {
      yield* [1, 2, 3];
    }
    const seen: number[] = [];
    for await (const each of withIdleLimit(source(), 50)) {
      await new Promise((resolve) => setTimeout(resolve, 80));
      seen.push(each);
    }
    expect(seen).toEqual([1, 2, 3]);
  });

  it('fails when nothing comes', async () => {
    async function* source() {
      yield 1;
      await new Promise((resolve) => setTimeout(resolve, 500));
      yield 2;
    }
    const limited = withIdleLimit(source(), 50);
    expect(await limited.next()).toEqual({ done: false, value: 1 });
    await expect(limited.next()).rejects.toMatchObject({ code: 'request_timeout' });
  });
});
