import { expect, it } from 'vitest';
import { anyPressure } from '#adapters/process/any-pressure.ts';
import { busyLoop } from '#adapters/process/busy-loop.ts';
import { processorPressure } from '#adapters/process/processor-pressure.ts';
import { AdaptiveRate } from '#domain/foundation/kernel/adaptive-rate.ts';

it.each([
  [[false, true], true],
  [[null, true], true],
  [[false, null], false],
  [[false, false], false],
  [[null, null], null],
])('of %j is %j', (kinds, pressure) => {
  expect(anyPressure(...kinds.map((kind) => () => kind))()).toBe(pressure);
});

it('lets a rate rise again where the kernel does not count and the event loop is idle again', () => {
  let [at, share] = [0, 1];
  const utilization = (() => ({ idle: 0, active: 0, utilization: share })) as never;
  const pressure = anyPressure(
    busyLoop({ utilization, now: () => at }),
    processorPressure({ statistics: () => '', now: () => at }),
  );
  const rate = new AdaptiveRate({ perSecond: 100, pressure });
  const after = (rounds: number) => {
    let units = 0;
    for (let n = 0; n < rounds; n += 1) units = rate.next(true, (at += 1_000));
    return units;
  };
  expect(after(5)).toBe(25);
  share = 0;
  expect(after(20)).toBe(800);
});
