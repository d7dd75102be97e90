import { chmodSync, existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { findTemporal } from '../../bin/launcher/find-temporal.ts';

function program(server: string): string {
  return `#!/bin/sh\necho "temporal version 0.0.0 (Server ${server}, UI 2.0.0)"\n`;
}

/** A tar entry: header block, content, padding. */
function entry(name: string, content: string): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(Buffer.byteLength(content).toString(8).padStart(11, '0'), 124);
  return Buffer.concat([header, Buffer.from(content), Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

let server: Server | undefined;
afterEach(() => server?.close());

async function serve(archive: Buffer, requests: string[]): Promise<string> {
  server = createServer((request, response) => {
    requests.push(request.url ?? '');
    setTimeout(() => response.end(archive), 300);
  });
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function emptyFolder(): string {
  return mkdtempSync(join(tmpdir(), 'temporal-'));
}

test('two finds at once download once, and the next find takes the cached program', async () => {
  const archive = gzipSync(
    Buffer.concat([
      entry('LICENSE', 'x'.repeat(700)),
      entry('temporal', program('1.31.2')),
      Buffer.alloc(1024),
    ]),
  );
  const requests: string[] = [];
  const env = { PATH: emptyFolder(), TEMPORAL_DOWNLOAD_URL: await serve(archive, requests) };
  const cacheDir = join(emptyFolder(), 'cache');
  const path = join(cacheDir, 'temporal');
  const found = await Promise.all([findTemporal({ cacheDir, env }), findTemporal({ cacheDir, env })]);
  expect(found.map(({ how }) => how).sort()).toEqual(['cached', 'downloaded']);
  expect(await findTemporal({ cacheDir, env })).toEqual({ path, how: 'cached' });
  const arch = process.arch === 'arm64' ? 'arm64' : 'amd64';
  expect(requests).toEqual([`/cli/archive/v1.8.2?platform=${process.platform}&arch=${arch}`]);
});

test('a program on PATH is used when it is new enough and passed over when it is not', async () => {
  const folder = emptyFolder();
  const onPath = join(folder, 'temporal');
  const requests: string[] = [];
  const archive = gzipSync(entry('temporal', program('1.31.2')));
  const env = { PATH: folder, TEMPORAL_DOWNLOAD_URL: await serve(archive, requests) };
  const cacheDir = emptyFolder();
  writeFileSync(onPath, program('1.29.0'));
  chmodSync(onPath, 0o755);
  expect(await findTemporal({ cacheDir, env })).toEqual({ path: onPath, how: 'found on PATH' });
  writeFileSync(onPath, program('1.28.9'));
  expect(await findTemporal({ cacheDir, env })).toEqual({
    path: join(cacheDir, 'temporal'),
    how: 'downloaded',
  });
  expect(requests).toHaveLength(1);
});

test('a download that does not run is not kept', async () => {
  const archive = gzipSync(entry('temporal', '#!/bin/sh\nexit 1\n'));
  const env = { PATH: emptyFolder(), TEMPORAL_DOWNLOAD_URL: await serve(archive, []) };
  const cacheDir = emptyFolder();
  await expect(findTemporal({ cacheDir, env })).rejects.toThrow('No Temporal server can be had here');
  expect(existsSync(join(cacheDir, 'temporal'))).toBe(false);
});

test('an answer other than success is a reason, not a program', async () => {
  server = createServer((_request, response) => response.writeHead(404).end('gone'));
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const failure: unknown = await findTemporal({
    cacheDir: emptyFolder(),
    env: { PATH: emptyFolder(), TEMPORAL_DOWNLOAD_URL: url },
  }).catch((error: unknown) => error);
  expect(failure).toHaveProperty('detail', [
    expect.stringContaining('answered 404'),
    expect.stringContaining('Go is not on PATH'),
  ]);
});
