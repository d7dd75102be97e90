import { expect, it } from 'vitest';
import { shortConnectors } from './connector-plan.ts';
import { cutOff, describeConnectors } from './connector-report.ts';
import { runConnectors } from './connector-run.ts';
import { withoutSources } from './connector-sources.ts';
import { seedFrom } from './plan.ts';

const seed = seedFrom(process.env);
const form = shortConnectors;
const kills = form.rounds.flat().length;

it.skipIf(withoutSources !== null)(
  `documents equal their sources after every run, over ${kills} kills${withoutSources === null ? '' : `: ${withoutSources}`}`,
  async () => {
    console.log(`connectors, short form: SEED=${seed}`);
    const run = await runConnectors({ ...form, seed, say: (line) => console.log(line) });
    console.log(describeConnectors(run));
    expect(run).toMatchObject({ missed: [], differences: [], fetchedTooOften: [], odd: [] });
    expect(run.struck.map(({ signal }) => signal)).toEqual(Array(kills).fill('SIGKILL'));
    expect(cutOff(run)).toBeGreaterThan(kills / 2);
    expect(run.runs).toBeGreaterThanOrEqual(3 * form.rounds.length);
  },
  300_000,
);
