import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitUntilReady } from '../../bin/launcher/readiness.ts';
import { preparePostgres, startPostgres, type RunningPostgres } from '../../bin/launcher/postgres.ts';
import { prepareTemporal } from '../../bin/launcher/temporal.ts';

const [other, own] = ['other-', 'own-'].map((name) => mkdtempSync(join(tmpdir(), name))) as [string, string];
let running: RunningPostgres;

beforeAll(async () => {
  running = await startPostgres({ dataDir: other });
});
afterAll(async () => {
  await running?.stop();
  for (const folder of [other, own]) rmSync(folder, { recursive: true, force: true });
});

test('a server of another folder on the port is not taken for the own one', { timeout: 60_000 }, async () => {
  const prepared = await preparePostgres({ dataDir: own, port: running.port });
  const child = prepared.spawn();
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const enough = new AbortController();
  const ready = prepared.ready(enough.signal);
  ready.catch(() => undefined);
  await ended;
  await sleep(500);
  enough.abort(new Error('still waiting'));
  await expect(ready).rejects.toThrow('The operation was aborted');
});

test('a line of the workflow server says that it listens on its own port', async () => {
  const server = await prepareTemporal({ binary: 'temporal', port: 27_913 });
  const says = (line: string) => server.says(line);
  expect(says('Temporal Server:      localhost:27913')).toBe(true);
  expect(says('Server:  127.0.0.1:27913')).toBe(true);
  expect(says('Temporal Server:      localhost:7233')).toBe(false);
  expect(says('error: dial tcp 127.0.0.1:27913')).toBe(false);
});

test('a server on the port of a service is not taken for the service, whose id it does not know', async () => {
  let headers: Record<string, string> = {};
  const server = createServer((_, response: ServerResponse) => response.writeHead(200, headers).end('ok\n'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/readyz`;
  let isReady = false;
  const ready = waitUntilReady({ url, instanceId: 'own' }, AbortSignal.timeout(20_000)).then(() => {
    isReady = true;
  });
  await sleep(500);
  headers = { 'x-instance-id': 'other' };
  await sleep(500);
  expect(isReady).toBe(false);
  headers = { 'x-instance-id': 'own' };
  await ready;
  server.closeAllConnections();
  server.close();
});
