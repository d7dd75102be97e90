import { once } from 'node:events';
import { connect as dial, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fastify } from 'fastify';
import { afterEach, expect, it } from 'vitest';
import { dropStalledReaders } from '#api/plugins/stalled-readers.ts';

const afterMs = 500;
const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()));
});

/** More than the kernel buffers of an unread answer. */
const large = 'x'.repeat(64 * 2 ** 20);

async function ask(path: string): Promise<{ socket: Socket; served: Promise<unknown> }> {
  const app = fastify({ forceCloseConnections: true });
  open.push(() => app.close());
  dropStalledReaders(app, { afterMs });
  app.get('/large', () => large);
  app.get('/late', async () => {
    await sleep(3 * afterMs);
    return 'late';
  });
  const accepted = once(app.server, 'connection') as Promise<[Socket]>;
  await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = dial((app.server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  const [server] = await accepted;
  return { socket, served: once(server, 'close') };
}

it('an answer that the client does not read is given up', async () => {
  const { socket, served } = await ask('/large');
  socket.pause();
  await served;
});

it('a slow answer is not given up', async () => {
  const { socket } = await ask('/late');
  const [first] = (await once(socket, 'data')) as [Buffer];
  expect(first.toString()).toContain('late');
  expect(socket.destroyed).toBe(false);
});
