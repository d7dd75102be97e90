import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { realWeights } from '../../support/builtin-weights.ts';

const weights = await realWeights();
const folder = mkdtempSync(join(tmpdir(), 'runtime-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const path = (name: string) => new URL(`../../support/${name}`, import.meta.url).pathname;

/** Embeds once in a process of its own. */
async function embedOnce(args: string[], files: string[]): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, [...args, path('embed-once.ts'), ...files]);
  return JSON.parse(stdout);
}

describe.skipIf(weights === null)('a process', () => {
  const genuine = [weights?.weights ?? '', weights?.tokenizer ?? ''];

  it('without the optional runtime works on, and says why it does not embed', async () => {
    expect(await embedOnce(['--import', path('without-runtime.ts')], genuine)).toEqual({
      result: 'unavailable',
      state: { is: 'unavailable', reason: 'no_runtime', detail: 'ERR_MODULE_NOT_FOUND' },
    });
    // With the runtime the same process embeds.
    expect(await embedOnce([], genuine)).toMatchObject({ result: '11 tokens', state: { is: 'ready' } });
  });

  it('whose weights the runtime cannot read works on', async () => {
    writeFileSync(join(folder, 'weights.onnx'), 'no weights');
    copyFileSync(genuine[1]!, join(folder, 'tokenizer.json'));
    const broken = [join(folder, 'weights.onnx'), join(folder, 'tokenizer.json')];
    expect(await embedOnce([], broken)).toMatchObject({
      result: 'unavailable',
      state: { is: 'unavailable', reason: 'unreadable_model' },
    });
  });
});
