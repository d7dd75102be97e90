import { expect, it } from 'vitest';
import { seedFrom } from './plan.ts';
import { runDelivery } from './delivery-run.ts';
import { describeDelivered } from './delivery-verdict.ts';

it('of 80 events exactly the recipients that the rules name are notified, once each, while workers are killed', async () => {
  const seed = seedFrom(process.env);
  console.log(`notifications, short form: SEED=${seed}`);
  const say = (line: string) => console.log(line);
  const run = await runDelivery({ seed, events: 80, kills: 2, say });
  console.log(describeDelivered(run));
  expect(run).toMatchObject({ missing: [], twice: [], tooMany: [], failures: [] });
  expect(run.kills).toEqual(Array(2).fill('SIGKILL'));
  expect(run.wide).toBeGreaterThan(0);
  expect(run.cutOff).toBeGreaterThan(0);
}, 300_000);
