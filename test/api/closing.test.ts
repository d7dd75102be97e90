import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import { closePromptly } from '#api/plugins/prompt-close.ts';

it('closing waits for what is asked, but for no connection that a client merely keeps', async () => {
  const app = fastify({ keepAliveTimeout: 72_000, forceCloseConnections: 'idle' });
  closePromptly(app);
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<string>();
  app.get('/', () => {
    asked.resolve();
    return answered.promise;
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;

  const unused = connect(port, '127.0.0.1');
  await once(unused, 'connect');
  const left = once(unused, 'close');
  const agent = new Agent({ keepAlive: true });
  const answer = once(get({ port, host: '127.0.0.1', agent }), 'response') as Promise<[IncomingMessage]>;
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
  agent.destroy();
}, 5_000);
