import { execFile } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readPack } from '#adapters/sources/git/read-pack.ts';
import { startGitServer, type GitServer } from '#test/support/sources/git-server.ts';

const format = { name: 'sha1', idBytes: 20 } as const;
const limits = { inflatedBytes: 64 * 1_048_576 };

let server: GitServer;
let folder: string;
let expected: string[];
beforeAll(async () => {
  server = await startGitServer();
  for (let round = 0; round < 12; round += 1) {
    for (let each = 0; each < 300; each += 1 + round * 7) {
      await server.put(`folder/${each}.md`, `${round} ${'line\n'.repeat(each)}`);
    }
    await server.git('status');
  }
  await server.git('gc', '-q', '--aggressive');
  folder = (await server.git('rev-parse', '--show-toplevel')).trim();
  const objects = await server.git(
    'cat-file',
    '--batch-all-objects',
    '--batch-check=%(objectname) %(objecttype)',
  );
  expected = objects
    .split('\n')
    .filter((line) => /(commit|tree)$/.test(line))
    .map((line) => line.slice(0, 40))
    .toSorted();
});
afterAll(() => server.close());

function packOf(...options: string[]): Promise<Buffer> {
  return new Promise((done, refuse) => {
    const args = ['-C', folder, 'pack-objects', '--all', '--stdout', '-q', ...options];
    const child = execFile('git', args, { encoding: 'buffer', maxBuffer: 1e9 }, (error, stdout) =>
      error === null ? done(stdout) : refuse(error),
    );
    child.stdin?.end();
  });
}

/** Trees that are stored as deltas. */
async function deltas(): Promise<number> {
  const chains = await server.git(
    'cat-file',
    '--batch-all-objects',
    '--batch-check=%(objecttype) %(deltabase)',
  );
  return chains.split('\n').filter((line) => /^tree (?!0{40})/.test(line)).length;
}

test.each([
  ['offsets', ['--delta-base-offset']],
  ['ids', []],
  ['no contents', ['--filter=blob:none']],
])('commits and trees of a pack whose deltas name their bases by %s', async (_, options) => {
  expect(await deltas()).toBeGreaterThan(5);
  const objects = readPack(await packOf(...options), format, limits);
  expect([...(objects?.keys() ?? [])].toSorted()).toEqual(expected);
});

test('a pack that is damaged in any byte is refused, or lacks an object under its true id', async () => {
  const pack = await packOf('--filter=blob:none', '--delta-base-offset');
  const known = new Set(expected);
  let noticed = 0;
  for (let at = 12; at < pack.byteLength; at += 41) {
    const damaged = Buffer.from(pack);
    damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
    const objects = readPack(damaged, format, limits);
    if (objects === null || [...known].some((id) => !objects.has(id))) {
      noticed += 1;
    }
  }
  // Only damage of the check sum at the end changes no object.
  expect(noticed).toBeGreaterThan(pack.byteLength / 41 - 4);
});
