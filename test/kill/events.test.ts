import { expect, it } from 'vitest';
import { runMutations } from './event-mutations.ts';
import { seedFrom } from './plan.ts';

it('the log holds exactly what 100 random mutations did, while gateways and workers are killed', async () => {
  const seed = seedFrom(process.env);
  console.log(`event mutations, short form: SEED=${seed}`);
  const say = (line: string) => console.log(line);
  const run = await runMutations({ seed, mutations: 100, kills: 2, clients: 4, say });
  expect(run.wrong).toEqual([]);
  expect(run.kills).toEqual({ gateway: 1, worker: 1 });
  expect(run.events).toBeGreaterThan(75);
  expect(run.verification).toMatchObject({ findings: [], unsealed: 0 });
}, 900_000);
