import { expect, it } from 'vitest';
import { AdaptiveRate } from '#domain/foundation/kernel/adaptive-rate.ts';

/** Units of rounds a second apart. */
function rounds(rate: AdaptiveRate, count: number, fromMs = 0): number[] {
  return Array.from({ length: count }, (_, second) => rate.next(fromMs + second * 1_000));
}
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

it('falls to a quarter of the given rate under pressure, and rises to its twentyfold without', () => {
  let pressure = true;
  const rate = new AdaptiveRate({ perSecond: 3, pressure: () => pressure });
  const busy = rounds(rate, 40);
  expect(busy.slice(0, 3)).toEqual([2, 1, 1]);
  expect(mean(busy.slice(20))).toBeCloseTo(0.75, 1);
  pressure = false;
  const free = rounds(rate, 20, 40_000);
  expect(free.at(-1)).toBe(60);
  expect(free.findIndex((units) => units >= 3)).toBeLessThan(6);
});

it('keeps the given rate where nothing is known of the machine, and the fractions of a round for the next', () => {
  const rate = new AdaptiveRate({ perSecond: 1.5, pressure: () => null });
  expect(rounds(rate, 6)).toEqual([1, 2, 1, 2, 1, 2]);
});

it('counts the time of a round, and saves nothing up in a long pause', () => {
  const rate = new AdaptiveRate({ perSecond: 10, pressure: () => null });
  rate.next(0);
  expect(rate.next(200)).toBe(2);
  expect(rate.next(200)).toBe(0);
  expect(rate.next(60_000)).toBe(10);
});

it('looks at the machine twice a second, however short the rounds', () => {
  let looks = 0;
  const rate = new AdaptiveRate({ perSecond: 10, pressure: () => ((looks += 1), false) });
  for (let ms = 0; ms <= 1_000; ms += 10) rate.next(ms);
  expect(looks).toBe(3);
});
