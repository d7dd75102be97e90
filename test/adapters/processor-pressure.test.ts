import { expect, it } from 'vitest';
import { processorPressure } from '#adapters/process/processor-pressure.ts';

/** The pressure beside a kernel whose clock and counts are set by `at`. */
function scheduler() {
  let [ms, waitedMs] = [0, 5_000];
  const pressure = processorPressure({ statistics: () => `123 ${waitedMs * 1e6} 456\n`, now: () => ms });
  return (toMs: number, toWaitedMs: number) => {
    [ms, waitedMs] = [toMs, toWaitedMs];
    return pressure();
  };
}

it('is pressure when the event loop waits for a processor for a tenth of its time', () => {
  const at = scheduler();
  expect([at(1_000, 5_099), at(2_000, 5_199), at(3_000, 5_220)]).toEqual([false, true, false]);
});

it('is what was seen last for half a second, so that several callers see the same', () => {
  const at = scheduler();
  expect([at(499, 5_499), at(1_000, 5_499), at(1_499, 5_499), at(1_500, 5_499)]).toEqual([
    false,
    true,
    true,
    false,
  ]);
});

it.each(['', '0 0 0\n'])('is unknown where the kernel does not count, and shows %j', (counts) => {
  expect(processorPressure({ statistics: () => counts, now: () => 0 })()).toBeNull();
});

it.runIf(process.platform === 'linux')('reads what the kernel counts for this process', () => {
  expect(processorPressure()()).not.toBeNull();
});
