import { expect, it } from 'vitest';
import { slack } from '../support/slack.ts';
import { percentile } from './distribution.ts';
import { isSurvived, runKills } from './kill-run.ts';
import { makePlan, seedFrom, shortForm } from './plan.ts';
import { report } from './report.ts';
import { parts } from './scripts.ts';
import { toolParts } from './tool-parts.ts';

const all = [...toolParts, ...parts];

it('no response is lost or stuck while ten kills of every kind hit the deployment', async () => {
  const seed = seedFrom(process.env);
  console.log(`kill run, short form: SEED=${seed}`);
  const run = await runKills({
    seed,
    plan: makePlan(shortForm, seed),
    gateways: 2,
    workers: 2,
    parts: all,
    concurrency: 4,
    say: (line) => console.log(line),
  });
  console.log(report(run));
  expect(run.missed).toEqual([]);
  expect(run.struck.filter(isSurvived)).toEqual([]);
  // Every manner of a model, including the run that is read again at its vendor.
  expect(all.filter(({ script }) => !run.notified.has(script.name))).toEqual([]);
  expect(run.lost).toEqual([]);
  expect(run.stuck).toEqual([]);
  expect(run.tools?.broken).toEqual([]);
  expect(run.tools?.inFlight).toBeGreaterThanOrEqual(1);
  expect(run.workerKills.betweenDeltas).toBeGreaterThanOrEqual(run.workerKills.total / 2);
  // Only kills without another near them measure the delay, and among few kills there may be none. The long
  // form always has some and, alone on its machine, needs no tolerance.
  expect(percentile(run.recovery.begun, 0.5)).toBeLessThanOrEqual(5_000 * slack());
}, 240_000);
