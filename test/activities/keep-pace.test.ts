import { setTimeout as sleep } from 'node:timers/promises';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';
import { keepPace } from '#activities/responses/keep-pace.ts';
import { Pace } from '#domain/kernel/pace.ts';

/** Two at once, and one more each two seconds. */
const slow = () => new Pace({ burst: 2, perSecond: 0.5 });

/** Begins as an activity of its own. */
function begin(pace: Pace, tenantId: string) {
  const temporal = new MockActivityEnvironment();
  let [hasBegun, beats] = [false, 0];
  temporal.on('heartbeat', () => (beats += 1));
  const begun = temporal.run(async () => {
    await keepPace(pace, tenantId);
    hasBegun = true;
  });
  begun.catch(() => undefined);
  return { temporal, begun, hasBegun: () => hasBegun, beats: () => beats };
}

it('a tenant that begins more than its pace waits, and shows that it lives; another tenant does not', async () => {
  const pace = slow();
  await Promise.all([begin(pace, 'a').begun, begin(pace, 'a').begun]);
  const third = begin(pace, 'a');
  await begin(pace, 'b').begun;
  expect(third.hasBegun()).toBe(false);
  await third.begun;
  expect(third.beats()).toBeGreaterThan(0);
});

it.each([
  ['a cancelled response is cancelled', 'CANCELLED', { name: 'CancelledFailure' }],
  ['a worker that stops gives the turn to another one', 'WORKER_SHUTDOWN', { type: 'worker_shutdown' }],
] as const)('while it waits, %s at once', async (_what, reason, failure) => {
  const pace = slow();
  await Promise.all([begin(pace, 'a').begun, begin(pace, 'a').begun]);
  const third = begin(pace, 'a');
  await sleep(50);
  third.temporal.cancel(reason);
  await expect(third.begun).rejects.toMatchObject(failure);
  expect(third.hasBegun()).toBe(false);
});
