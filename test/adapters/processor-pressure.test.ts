import { expect, it } from 'vitest';
import { processorPressure } from '#adapters/process/processor-pressure.ts';

/** Statistics of the scheduler, one a call: milliseconds of waiting, and how often a processor was got. */
function scheduler(...readings: [waitedMs: number, turns: number][]): () => string {
  const left = readings.map(([waitedMs, turns]) => `123 ${waitedMs * 1e6} ${turns}\n`);
  return () => left.shift() ?? '';
}

it('is pressure when a runnable thread waits for half a millisecond and more on average', () => {
  const pressure = processorPressure(scheduler([1_000, 100], [1_049, 200], [1_149, 300], [1_150, 400]));
  expect([pressure(), pressure(), pressure()]).toEqual([false, true, false]);
});

it('is no pressure when there was nothing to do', () => {
  expect(processorPressure(scheduler([1_000, 100], [1_000, 100]))()).toBe(false);
});

it('is unknown where the kernel does not count', () => {
  expect(processorPressure(() => '')()).toBeNull();
});

it.runIf(process.platform === 'linux')('reads what the kernel counts for this process', () => {
  expect(processorPressure()()).not.toBeNull();
});
