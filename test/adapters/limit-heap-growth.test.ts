import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { memorySettings } from '../../bin/launcher/memory-settings.ts';

const module = fileURLToPath(new URL('../../adapters/process/limit-heap-growth.ts', import.meta.url));

/** Makes objects, of which the newest live on for a while. @returns MiB of its space for new ones */
const churn = `
  const { getHeapSpaceStatistics } = process.getBuiltinModule('node:v8');
  const live = [];
  for (let n = 0; n < 2_000_000; n += 1) live[n % 20_000] = { n, text: 'x' + n };
  const { space_size } = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
  console.log(space_size / 2 ** 20);`;

it('new objects of a thread get less space than those of the main thread', async () => {
  const program = `
    import { once } from 'node:events';
    import { Worker } from 'node:worker_threads';
    import { limitHeapGrowth } from ${JSON.stringify(module)};
    limitHeapGrowth();
    await once(new Worker(${JSON.stringify(churn)}, { eval: true }), 'exit');
    ${churn}`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    env: memorySettings,
  });
  expect(stdout.trim().split('\n').map(Number)).toEqual([8, 32]);
});
