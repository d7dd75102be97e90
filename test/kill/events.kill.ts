import { expect, it } from 'vitest';
import { runMutations } from './event-mutations.ts';
import { kinds } from './mutation-kinds.ts';
import { seedFrom } from './plan.ts';

const mutations = Number(process.env['MUTATIONS'] ?? 10_000);

it(`the log holds exactly what ${mutations} random mutations did, while gateways and workers are killed`, async () => {
  const seed = seedFrom(process.env);
  console.log(`event mutations, long form: SEED=${seed}`);
  const say = (line: string) => console.log(line);
  const run = await runMutations({ seed, mutations, kills: 60, clients: 8, say });
  const { wrong, verification, ...rest } = run;
  console.log(JSON.stringify({ ...rest, batches: verification.batches, verified: verification.events }));
  expect(wrong).toEqual([]);
  if (mutations >= 1_000) expect(Object.keys(run.made).sort()).toEqual(Object.keys(kinds).sort());
  expect(run.kills).toEqual({ gateway: 30, worker: 30 });
  expect(verification).toMatchObject({ findings: [], unsealed: 0 });
}, 3_000_000);
