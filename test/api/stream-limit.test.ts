import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openEngine, type Engine } from '../support/engine.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';

let engine: Engine;
let gateway: TestGateway;
let port: number;

beforeAll(async () => {
  engine = await openEngine();
  gateway = await openGateway(engine.database, { MAX_STREAM_SECONDS: '1' });
  port = Number(new URL(await gateway.app.listen({ host: '127.0.0.1', port: 0 })).port);
});
afterAll(async () => {
  await gateway?.close();
  await engine?.stop();
});

/** All bytes that arrived until the connection ended. */
async function readToEnd(path: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: tides\r\nX-API-Key: ${engine.world.apiKey}\r\nAccept: text/event-stream\r\n\r\n`,
  );
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  // An aborted connection may be reset.
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  return received;
}

it('a stream at its maximum duration is aborted, and never ended as if it were complete', async () => {
  const id = await engine.create();
  const path = `/api/v1/spaces/${engine.world.spaceId}/responses/${id}?stream=true`;
  const since = performance.now();
  const received = await readToEnd(path);
  expect(performance.now() - since).toBeGreaterThan(900);
  expect(received).toMatch(/^HTTP\/1\.1 200 /);
  expect(received).toContain('retry: 500');
  // The empty chunk that ends a complete answer.
  expect(received).not.toMatch(/\r\n0\r\n\r\n$/);
  expect(received).not.toContain('response.completed');
  expect(gateway.gateway.openStreams.size).toBe(0);
});
