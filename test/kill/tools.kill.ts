import { expect, it } from 'vitest';
import { isSurvived, runKills } from './kill-run.ts';
import { makePlan, seedFrom, toolForm } from './plan.ts';
import { report } from './report.ts';
import { toolParts } from './tool-parts.ts';

it('no tool acts twice and no outcome is hidden over 70 seeded kills of workers that call tools', async () => {
  const seed = seedFrom(process.env);
  console.log(`kill run with tools: SEED=${seed}`);
  const run = await runKills({
    seed,
    plan: makePlan(toolForm, seed),
    gateways: 2,
    workers: 3,
    parts: toolParts,
    concurrency: 6,
    say: (line) => console.log(line),
  });
  console.log(report(run));
  expect(run.missed).toEqual([]);
  expect(run.struck.filter(isSurvived)).toEqual([]);
  expect(run.lost).toEqual([]);
  expect(run.stuck).toEqual([]);
  expect(run.tools?.broken).toEqual([]);
  expect(run.tools?.inFlight).toBeGreaterThanOrEqual(0.15 * run.struck.length);
  expect(run.tools?.unknown).toBeGreaterThanOrEqual(5);
}, 2_000_000);
