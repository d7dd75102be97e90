import { execFile } from 'node:child_process';
import { expect, test } from 'vitest';
import { cpuOf } from '../../bench/support/cpu.ts';
import { judge, toTable, type Line, type Verdict } from '../../bench/support/report.ts';
import { agesOf, now, stampedToken } from '../../bench/support/stamps.ts';
import { percentile } from '../../bench/support/stats.ts';
import { runQuickly } from './quick-run.ts';

const line: Line = { name: 'a', ratios: [2, 0.5, 0.9], goal: 0.85, better: 'higher', ours: '1', peer: '2' };

test('the short run measures every part, both sides with as many activities, and reports which goals were met', async () => {
  const { report, judged } = await runQuickly('responses');
  const verdicts = report as Verdict[];
  expect(verdicts.map(({ name }) => name.replace(/ \(.*/, ''))).toEqual([
    '0 tools, 4 callers: responses/s',
    '0 tools, 4 callers: CPU per response',
    '1 tools, 4 callers: responses/s',
    '1 tools, 4 callers: CPU per response',
    'first token added, to a bare one-activity workflow',
    'delay added per token, 1 streams, p50',
    'delay added per token, 1 streams, p99',
    'delay added per token, 5 streams, p50',
    'delay added per token, 5 streams, p99',
    'GET of a response with one key, to Fastify with one prepared select',
    'GET of a response with 2 keys, to Fastify with one prepared select',
    'memory per idle stream, of 22 kB',
  ]);
  for (const { name, ratios, ratio } of verdicts)
    expect([...ratios, ratio].every(Number.isFinite), name).toBe(true);
  expect(judged).toBe(verdicts.length);
}, 600_000);

test('the median of the rounds decides, in the direction of its goal', () => {
  expect(judge(line)).toMatchObject({ ratio: 0.9, met: true });
  expect(judge({ ...line, goal: 0.95 }).met).toBe(false);
  expect(judge({ ...line, better: 'lower' }).met).toBe(false);
  expect(toTable([judge(line)])).toContain('0.90×  0.50–2.00  ≥ 0.85×  met');
});

test('a stamp gives its age, alone and among other text', () => {
  const token = stampedToken();
  const later = now() + 5_000;
  const [age = 0] = agesOf(`{"delta":"${token}"}`, later);
  expect(age).toBeGreaterThanOrEqual(5);
  expect(age).toBeLessThan(100);
  expect(agesOf(`${token}${token}`, later)).toHaveLength(2);
  expect(agesOf('no stamp', later)).toEqual([]);
});

test('processor time of a process includes its descendants', async () => {
  const busy = `while (process.cpuUsage().user < 300_000);`;
  const parent = `require('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(busy)}]); process.stdout.write('done'); process.stdin.resume();`;
  const child = execFile(process.execPath, ['-e', parent]);
  try {
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    expect(cpuOf({ tree: child.pid! })['tree']).toBeGreaterThanOrEqual(150);
  } finally {
    child.kill();
  }
});

test('a percentile lies among the values', () => {
  expect([0, 0.5, 0.99].map((share) => percentile([5, 1, 3], share))).toEqual([1, 3, 5]);
  expect(() => percentile([], 0.5)).toThrow();
});
