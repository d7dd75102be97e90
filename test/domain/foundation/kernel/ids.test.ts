import { afterEach, describe, expect, it, vi } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';

afterEach(() => void vi.useRealTimers());

const timeOf = (id: string) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
const fakeClock = (shiftMs: number) => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + shiftMs });

describe('an id', () => {
  it('has the time of the clock again after the clock was two hours ahead', () => {
    fakeClock(7_200_000);
    const ahead = newId();
    expect(timeOf(ahead)).toBe(Date.now());
    vi.useRealTimers();
    const before = Date.now();
    expect(timeOf(newId())).toBeGreaterThanOrEqual(before);
    expect(timeOf(newId())).toBeLessThanOrEqual(Date.now() + 1);
  });

  it('sorts behind those before it within a millisecond, and while the clock is a second late', () => {
    fakeClock(0);
    const ids = Array.from({ length: 2_000 }, () => newId());
    vi.setSystemTime(Date.now() - 1_000);
    ids.push(...Array.from({ length: 2_000 }, () => newId()));
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    expect(
      ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)),
    ).toBe(true);
  });
});
