import { expect, it } from 'vitest';
import { AdaptiveRate } from '#domain/foundation/kernel/adaptive-rate.ts';

/** Units of rounds a second apart. */
function rounds(rate: AdaptiveRate, count: number, { from = 0, heldBack = true } = {}): number[] {
  return Array.from({ length: count }, (_, second) => rate.next(heldBack, (from + second) * 1_000));
}
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

it('falls to a quarter under pressure, and rises to its eightfold without, while more is to be done', () => {
  let pressure = true;
  const rate = new AdaptiveRate({ perSecond: 3, pressure: () => pressure });
  expect(rounds(rate, 4)).toEqual([1, 1, 1, 0]);
  expect(sum(rounds(rate, 100, { from: 4 }))).toBe(75);
  pressure = false;
  expect(rounds(rate, 20, { from: 104 }).at(-1)).toBe(24);
  pressure = true;
  expect(rounds(rate, 4, { from: 124 })).toEqual([12, 6, 3, 2]);
});

it('rises no higher than it may', () => {
  const rate = new AdaptiveRate({ perSecond: 3, pressure: () => false, most: 2 });
  expect(rounds(rate, 20).at(-1)).toBe(6);
});

it('is as given where nothing is held back: what comes later finds no rate that was raised', () => {
  let pressure = false;
  const rate = new AdaptiveRate({ perSecond: 3, pressure: () => pressure });
  expect(sum(rounds(rate, 100, { heldBack: false }))).toBe(300);
  rounds(rate, 20, { from: 100 });
  expect(rounds(rate, 4, { from: 120, heldBack: false })).toEqual([12, 6, 3, 3]);
  pressure = true;
  rounds(rate, 10, { from: 122 });
  pressure = false;
  expect(rounds(rate, 10, { from: 132, heldBack: false }).at(-1)).toBe(3);
});

it('keeps the given rate where nothing is known of the machine, and the fractions of a round for the next', () => {
  const rate = new AdaptiveRate({ perSecond: 1.5, pressure: () => null });
  expect(rounds(rate, 6)).toEqual([1, 2, 1, 2, 1, 2]);
});

it('counts the time of a round, and saves nothing up in a long pause', () => {
  const rate = new AdaptiveRate({ perSecond: 10, pressure: () => null });
  rate.next(false, 0);
  expect(rate.next(false, 200)).toBe(2);
  expect(rate.next(false, 200)).toBe(0);
  expect(rate.next(false, 60_000)).toBe(10);
});

it('looks at the machine twice a second, however short the rounds', () => {
  let looks = 0;
  const rate = new AdaptiveRate({ perSecond: 10, pressure: () => ((looks += 1), false) });
  for (let ms = 0; ms <= 1_000; ms += 10) rate.next(true, ms);
  expect(looks).toBe(3);
});
