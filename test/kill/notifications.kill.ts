import { expect, it } from 'vitest';
import { seedFrom } from './plan.ts';
import { runDelivery } from './delivery-run.ts';
import { describeDelivered } from './delivery-verdict.ts';

const events = Number(process.env['EVENTS'] ?? 5_000);

it(`of ${events} events exactly the recipients that the rules name are notified, once each, while workers are killed`, async () => {
  const seed = seedFrom(process.env);
  console.log(`notifications, long form: SEED=${seed}`);
  const say = (line: string) => console.log(line);
  const run = await runDelivery({ seed, events, kills: 24, say });
  console.log(describeDelivered(run));
  expect(run).toMatchObject({ missing: [], twice: [], tooMany: [], failures: [] });
  expect(run.kills).toEqual(Array(24).fill('SIGKILL'));
  expect(run.wide).toBeGreaterThan(0);
  expect(run.cutOff).toBeGreaterThanOrEqual(24);
}, 1_800_000);
