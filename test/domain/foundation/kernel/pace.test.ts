import { expect, it } from 'vitest';
import { Pace } from '#domain/foundation/kernel/pace.ts';

it('a wait within a limit is never longer, and what is beyond it leaves no debt', () => {
  const pace = new Pace({ burst: 2, perSecond: 1 });
  expect(pace.takeWithin(5_000, 'a', 2, 0)).toBe(0);
  expect(pace.takeWithin(5_000, 'a', 3, 0)).toBe(3_000);
  expect(pace.takeWithin(5_000, 'a', 100, 0)).toBe(5_000);
  expect(pace.takeWithin(5_000, 'a', 1, 5_000)).toBe(1_000);
  expect(pace.takeWithin(5_000, 'b', 1, 0)).toBe(0);
});
