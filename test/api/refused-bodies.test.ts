import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';

const mebibyte = 1024 * 1024;

let database: TestDatabase;
let gateway: TestGateway;
/** The gateway's side of the latest connection. */
let accepted: Socket;
let port: number;

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
  gateway.app.server.on('connection', (socket) => (accepted = socket));
  await gateway.app.listen({ host: '127.0.0.1', port: 0 });
  ({ port } = gateway.app.server.address() as AddressInfo);
});
afterAll(async () => {
  await gateway?.close();
  await database?.drop();
});

const post = (bytes: number) =>
  `POST /api/v1/nowhere HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;

it('the body of a refused request is read at a pace, and the next request on its connection is answered', async () => {
  const client = connect(port, '127.0.0.1');
  let received = '';
  client.on('data', (chunk) => (received += chunk.toString()));
  const answers = () => received.split('HTTP/1.1 404').length - 1;

  client.write(post(4 * mebibyte));
  client.write(Buffer.alloc(4 * mebibyte, 0x20));
  client.write(post(0));
  await expect.poll(answers, { timeout: 2_000 }).toBe(1);
  await sleep(300);
  expect(accepted.bytesRead).toBeLessThan(mebibyte);

  await expect.poll(answers, { timeout: 10_000 }).toBe(2);
  expect(accepted.bytesRead).toBeGreaterThan(4 * mebibyte);
  client.destroy();
  await once(client, 'close');
});
