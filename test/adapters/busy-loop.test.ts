import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { busyLoop } from '#adapters/process/busy-loop.ts';

it('is busy while the event loop has been at work for most of the last half second', async () => {
  const isBusy = busyLoop();
  const until = performance.now() + 600;
  while (performance.now() < until) {
    // Calculates, and lets other turns come between.
    const part = performance.now() + 20;
    while (performance.now() < part);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(isBusy()).toBe(true);
  await sleep(600);
  expect(isBusy()).toBe(false);
});

it('is judged no more often than each half second', () => {
  let at = 0;
  const shares = [0.9, 0.1];
  const utilization = ((count?: object) => ({
    idle: 0,
    active: 0,
    utilization: count === undefined ? 0 : shares.shift()!,
  })) as typeof performance.eventLoopUtilization;
  const isBusy = busyLoop({ utilization, now: () => at });
  expect(isBusy()).toBe(false);
  at = 500;
  expect([isBusy(), isBusy()]).toEqual([true, true]);
  at = 1_000;
  expect(isBusy()).toBe(false);
});
