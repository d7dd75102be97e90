import { expect, it } from 'vitest';
import { ContendedPace } from '#domain/foundation/kernel/contended-pace.ts';

const slow = () => new ContendedPace({ burst: 2, perSecond: 1 });
const times = (count: number, take: () => number): number[] => Array.from({ length: count }, take);

it('a single active owner never waits', () => {
  const pace = slow();
  expect(times(100, () => pace.take('a', '', 0))).toEqual(Array.from({ length: 100 }, () => 0));
});

it('concurrent owners each have their own burst and then their own pace', () => {
  const pace = slow();
  pace.take('b', '', 0);
  expect(times(4, () => pace.take('a', '', 0))).toEqual([0, 0, 1_000, 2_000]);
  expect(pace.take('b', '', 0)).toBe(0);
});

it('starts of a single owner have used up its burst when another comes, and leave no debt', () => {
  const pace = slow();
  times(100, () => pace.take('a', '', 0));
  expect(pace.take('b', '', 0)).toBe(0);
  expect(pace.take('a', '', 0)).toBe(1_000);
  expect(pace.take('a', '', 5_000)).toBe(0);
});

it('another owner counts for ten seconds after it began something', () => {
  const pace = slow();
  pace.take('b', '', 0);
  times(5, () => pace.take('a', '', 9_999));
  expect(pace.take('a', '', 9_999)).toBeGreaterThan(0);
  expect(pace.take('a', '', 10_001)).toBe(0);
});

it('is used for ten seconds after any owner began something', () => {
  const pace = slow();
  expect(pace.isUsed(0)).toBe(false);
  pace.take('a', '', 0);
  expect(pace.isUsed(9_999)).toBe(true);
  expect(pace.isUsed(10_001)).toBe(false);
});

it('under pressure a key with a queue has half the rate, and one that keeps its pace the whole', () => {
  let pressure: boolean | null = true;
  const pace = new ContendedPace({ burst: 2, perSecond: 1, pressure: () => pressure });
  pace.take('b', '', 0);
  expect(times(5, () => pace.take('a', '', 0))).toEqual([0, 0, 1_000, 3_000, 5_000]);
  pressure = null;
  expect(pace.take('a', '', 0)).toBe(6_000);
  pressure = true;
  expect([0, 1_000, 2_000, 3_000, 4_000].map((now) => pace.take('b', '', now))).toEqual([0, 0, 0, 0, 0]);
});

it('a limited wait leaves no longer debt: the key is free again soon after its last start', () => {
  const pace = new ContendedPace({ burst: 2, perSecond: 1, maxWaitMs: 1_000 });
  pace.take('b', '', 0);
  expect(times(20, () => pace.take('a', '', 0)).at(-1)).toBe(1_000);
  expect(pace.take('a', '', 500)).toBeGreaterThan(0);
  pace.take('b', '', 3_000);
  expect(pace.take('a', '', 3_000)).toBe(0);
});

it('a single active owner never waits, whatever kinds it starts; beside another, each kind has its own pace', () => {
  const pace = slow();
  for (const kind of ['responses', 'documents', 'responses', 'documents', 'responses', 'documents'])
    expect(pace.take('a', kind, 0)).toBe(0);
  pace.take('b', '', 0);
  expect(pace.take('a', 'responses', 0)).toBe(1_000);
  expect(pace.take('a', 'discoveries', 0)).toBe(0);
});

it('the last start of a burst does not wait for an error of the sums', () => {
  const pace = new ContendedPace({ burst: 1, perSecond: 0.5 });
  pace.take('b', '', 0);
  expect(
    times(1_000, () => 0)
      .map((_, n) => pace.take(`a${n}`, '', 100 + n * 0.1))
      .filter((ms) => ms > 0),
  ).toEqual([]);
});
