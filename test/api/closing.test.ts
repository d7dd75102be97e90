import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fastify, type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { closePromptly } from '#api/plugins/prompt-close.ts';

let app: FastifyInstance;
let port: number;
let answered: PromiseWithResolvers<string>;
let asked: PromiseWithResolvers<void>;

beforeEach(async () => {
  app = fastify({ keepAliveTimeout: 72_000, forceCloseConnections: 'idle' });
  closePromptly(app);
  asked = Promise.withResolvers();
  answered = Promise.withResolvers();
  app.get('/', () => {
    asked.resolve();
    return answered.promise;
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  ({ port } = app.server.address() as AddressInfo);
});

const agent = new Agent({ keepAlive: true });
afterEach(() => agent.destroy());
const ask = () => once(get({ port, host: '127.0.0.1', agent }), 'response') as Promise<[IncomingMessage]>;

it('closing waits for requests that are handled or arriving, but for no idle connection', async () => {
  const unused = connect(port, '127.0.0.1');
  await once(unused, 'connect');
  const left = once(unused, 'close');
  const answer = ask();
  await asked.promise;
  const begun = connect(port, '127.0.0.1');
  begun.write('GET / HTTP/1.1\r\nHost: tides\r\n');
  await once(begun, 'ready');
  let closed = false;
  const closing = app.close().then(() => (closed = true));
  await left;
  expect(closed, 'a request is being answered').toBe(false);
  begun.end('\r\n');
  answered.resolve('whole');
  expect(await text(begun)).toMatch(/^HTTP\/1\.1 503 /);
  const [response] = await answer;
  expect(await text(response)).toBe('whole');
  await closing;
}, 5_000);

it('a slow reader has all of a long answer before its connection is closed', async () => {
  const long = 'tide '.repeat(4_000_000);
  const answer = ask();
  await asked.promise;
  const closing = app.close();
  answered.resolve(long);
  const [response] = await answer;
  // Longer than every interval.
  await sleep(500);
  expect((await text(response)).length).toBe(long.length);
  await closing;
}, 10_000);
