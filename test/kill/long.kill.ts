import { expect, it } from 'vitest';
import { countContinuations, percentile } from './distribution.ts';
import { isSurvived, runKills } from './kill-run.ts';
import { longForm, makePlan, seedFrom } from './plan.ts';
import { report } from './report.ts';
import { parts } from './scripts.ts';

it('no response is lost or stuck over 140 seeded kills of every kind', async () => {
  const seed = seedFrom(process.env);
  console.log(`kill run, long form: SEED=${seed}`);
  const run = await runKills({
    seed,
    plan: makePlan(longForm, seed),
    gateways: 3,
    workers: 3,
    parts,
    concurrency: 6,
    say: (line) => console.log(line),
  });
  console.log(report(run));
  expect(run.missed).toEqual([]);
  expect(run.struck.filter(isSurvived)).toEqual([]);
  expect(run.lost).toEqual([]);
  expect(run.stuck).toEqual([]);
  expect(run.workerKills.total).toBe(longForm.workers);
  expect(run.workerKills.betweenDeltas).toBeGreaterThanOrEqual(0.7 * run.workerKills.total);
  const continuations = countContinuations(run.attempts);
  for (const name of ['prefill', 'instruct', 'reattach']) {
    expect(continuations.get(name) ?? 0, name).toBeGreaterThan(0);
  }
  expect(run.recovery.begun.length).toBeGreaterThan(0);
  expect(run.recovery.nextEvent.length).toBeGreaterThan(0);
  // Recovery begins when another worker has started; when a reader sees it also depends on the model's speed.
  expect(Math.max(...run.recovery.begun)).toBeLessThanOrEqual(5_000);
  expect(percentile(run.recovery.nextEvent, 0.5)).toBeLessThanOrEqual(5_000);
}, 3_000_000);
