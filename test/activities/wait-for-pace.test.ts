import { setTimeout as sleep } from 'node:timers/promises';
import type { Info } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';
import { waitForPace } from '#activities/responses/wait-for-pace.ts';
import { ContendedPace } from '#domain/foundation/kernel/contended-pace.ts';

/** Two at once, and then one more every one and a half seconds, since another tenant is active. */
function slow(perSecond = 0.7): ContendedPace {
  const pace = new ContendedPace({ burst: 2, perSecond });
  pace.take('another');
  return pace;
}

/** Starts as an activity of its own. */
function begin(pace: ContendedPace, tenantId: string, info: Partial<Info> = {}) {
  const temporal = new MockActivityEnvironment(info);
  let [hasBegun, beats] = [false, 0];
  let details: unknown;
  temporal.on('heartbeat', (received: unknown) => {
    beats += 1;
    details = received;
  });
  const begun = temporal.run(async () => {
    await waitForPace(pace, tenantId);
    hasBegun = true;
  });
  begun.catch(() => undefined);
  return { temporal, begun, hasBegun: () => hasBegun, beats: () => beats, details: () => details };
}

it('a tenant that begins more than its pace waits, and sends heartbeats; another tenant does not wait', async () => {
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

it('a long wait is left to Temporal, and the next attempt begins at once', async () => {
  const pace = slow(0.1);
  await Promise.all([begin(pace, 'a').begun, begin(pace, 'a').begun]);
  const third = begin(pace, 'a');
  await expect(third.begun).rejects.toMatchObject({
    type: 'tenant_pace',
    nonRetryable: false,
    nextRetryDelay: expect.toSatisfy((ms: number) => ms > 9_000 && ms <= 10_000),
  });
  await begin(pace, 'a', { attempt: 2, heartbeatDetails: third.details() }).begun;
  await expect(
    begin(pace, 'a', { attempt: 3, heartbeatDetails: third.details() }).begun,
  ).rejects.toMatchObject({
    type: 'tenant_pace',
  });
});
