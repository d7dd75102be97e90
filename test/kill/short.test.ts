import { expect, it } from 'vitest';
import { percentile } from './distribution.ts';
import { runKills } from './kill-run.ts';
import { seedFrom, shortForm } from './plan.ts';
import { report } from './report.ts';

it('no response is lost or stuck while ten kills of every kind hit the deployment', async () => {
  const seed = seedFrom(process.env);
  console.log(`kill run, short form: SEED=${seed}`);
  const run = await runKills({
    seed,
    size: shortForm,
    gateways: 2,
    workers: 3,
    concurrency: 5,
    say: () => undefined,
  });
  console.log(report(run));
  expect(run.missed).toEqual([]);
  expect(run.struck.map(({ signal }) => signal)).toEqual(run.struck.map(() => 'SIGKILL'));
  expect(run.lost).toEqual([]);
  expect(run.stuck).toEqual([]);
  expect(run.workerKills.betweenDeltas).toBeGreaterThanOrEqual(run.workerKills.total / 2);
  expect(percentile(run.recovery.nextAttempt, 0.5)).toBeLessThanOrEqual(5_000);
}, 240_000);
