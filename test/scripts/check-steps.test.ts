import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import { isSource } from '../../scripts/check/file-sizes.ts';
import { inspect } from '../../scripts/check/forbidden-words.ts';
import { findExpressions, checkExpression } from '../../scripts/check/regular-expressions.ts';
import { runSteps, type Step } from '../../scripts/check/run-steps.ts';

async function run(steps: Step[]): Promise<{ passed: boolean; printed: string }> {
  let printed = '';
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
  try {
    return { passed: await runSteps(steps), printed };
  } finally {
    write.mockRestore();
  }
}

test('a failed step is named at the end, with what it wrote, and the later ones still run', async () => {
  const { passed, printed } = await run([
    { name: 'broken', command: ['node', '-e', 'console.error("here is why"); process.exit(3)'] },
    { name: 'absent', command: ['no-such-program-anywhere'] },
    { name: 'thrown', run: () => Promise.reject(new Error('fell over')) },
    { name: 'sound', run: () => Promise.resolve({ ok: true, text: 'a remark' }) },
  ]);
  expect(passed).toBe(false);
  expect(printed).toMatch(/here is why\n✗ broken \(\d+\.\d s\)/);
  expect(printed).toContain('fell over');
  expect(printed).toMatch(/a remark\n✓ sound/);
  expect(printed).toContain('failed: broken, absent, thrown (');
});

test('a full pass is reported with the number of steps, without the output of passing programs', async () => {
  const { passed, printed } = await run([
    { name: 'quiet', command: ['node', '-e', 'console.log("chatter")'] },
  ]);
  expect(passed).toBe(true);
  expect(printed).not.toContain('chatter');
  expect(printed).toContain('all 1 checks passed');
});

test('programs run beside our own checks', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const met = once(server, 'connection') as Promise<[Socket]>;
  const visit = `fetch('http://127.0.0.1:${port}').catch(() => {})`;
  const ended = met.then(([socket]) => {
    socket.destroy();
    server.close();
    return { ok: true, text: '' };
  });
  const { passed } = await run([
    { name: 'ours', run: () => ended },
    { name: 'program', command: ['node', '-e', visit] },
  ]);
  expect(passed).toBe(true);
});

test('notes of unfinished work and module mocks are found with their line', () => {
  // In two halves, so that the check does not find this file.
  const words = [
    ['// TO', 'DO later'],
    ['vi.', 'mock("x")'],
    ['// FIX', 'ME'],
  ].map((halves) => halves.join(''));
  expect(words.flatMap((line) => inspect('a.ts', `first\n${line}`))).toEqual([
    expect.stringMatching(/^a\.ts:2: .*finish it/),
    expect.stringMatching(/^a\.ts:2: .*real parts/),
    expect.stringMatching(/^a\.ts:2: .*finish it/),
  ]);
  expect(inspect('a.ts', 'const photodown = spyOn(process, "kill");')).toEqual([]);
  expect(inspect('a.md', words.join('\n'))).toEqual([]);
});

test('conflicts of a merge are found, also as the formatter of documents leaves them', () => {
  const left = ['<'.repeat(7) + ' HEAD', 'a', '='.repeat(7), 'b', '> '.repeat(7) + 'branch'].join('\n');
  expect(inspect('a.md', left)).toEqual([
    expect.stringMatching(/^a\.md:1: .*conflict/),
    expect.stringMatching(/^a\.md:5: .*conflict/),
  ]);
  expect(inspect('a.md', '> > a quotation in a quotation')).toEqual([]);
});

test('tests and documents may be long, code may not', () => {
  expect(['api/a.ts', 'bin/start.mjs', 'test/a.ts', 'docs/a.md'].filter(isSource)).toEqual([
    'api/a.ts',
    'bin/start.mjs',
  ]);
});

test('regular expressions that can take more than linear time are found, wherever they stand in a source', async () => {
  const judge = (source: string) =>
    Promise.all(
      findExpressions('domain/a.ts', source).map(async (each) => (await checkExpression(each)) ?? 'sound'),
    );
  const link = [
    'const link = (text: string) =>',
    String.raw`  text.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1');`,
  ].join('\n');
  expect(await judge(link)).toEqual([expect.stringMatching(/^domain\/a\.ts:2: .*2nd degree polynomial/)]);
  expect(await judge('const nested = /^(a+)+$/;')).toEqual([expect.stringContaining('exponential')]);
  expect(await judge(String.raw`const behind = /(?<!b)\[+!/;`)).toEqual([
    expect.stringContaining('does not grow'),
  ]);
  expect(await judge('const built = [new RegExp(form), RegExp(form)];')).toHaveLength(2);
  expect(await judge('const built = new RegExp(form);')).toEqual([expect.stringContaining('at run time')]);
  expect(await judge('const sound = /^[a-z]+$/.test(text) || /(?<!=)=+$/.test(text);')).toEqual([
    'sound',
    'sound',
  ]);
});
