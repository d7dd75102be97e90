import { describe, expect, it } from 'vitest';
import { intervalOf, nextRuns, type SyncSchedule } from '#domain/knowledge/connectors/sync-schedule.ts';

const minute = 60_000;
const connectors = Array.from(
  { length: 200 },
  (_, n) => `0190a1b2-0000-7000-8000-${String(n).padStart(12, '0')}`,
);
const one = '0190a1b2-0000-7000-8000-000000000001';
const hourly: SyncSchedule = { type: 'interval', minutes: 60 };
const cron = (expression: string, timezone = 'Europe/Berlin'): SyncSchedule => ({
  type: 'cron',
  expression,
  timezone,
});
const at = (time: string) => new Date(time);
/** Times without the shift of the connector, which is the same for all of its times. */
const unshifted = (schedule: SyncSchedule, from: string, count: number) => {
  const shift = shiftOf(one);
  return nextRuns(schedule, one, new Date(at(from).getTime() + shift), count).map((time) =>
    new Date(time.getTime() - shift).toISOString().replace(':00.000Z', 'Z'),
  );
};
/** Found at a full hour, where the time of a cron without a shift would be. */
const shiftOf = (connectorId: string) => {
  const [next] = nextRuns(cron('0 * * * *', 'UTC'), connectorId, at('2026-06-01T11:30:00Z'), 1);
  return next!.getTime() - at('2026-06-01T12:00:00Z').getTime();
};

describe('the shift of a connector', () => {
  it('is its own, up to five minutes, and spreads connectors of one schedule evenly', () => {
    const shifts = connectors.map(shiftOf);
    expect(Math.min(...shifts)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...shifts)).toBeLessThan(5 * minute);
    expect(new Set(shifts).size).toBeGreaterThan(190);
    const perMinute = [0, 1, 2, 3, 4].map(
      (n) => shifts.filter((shift) => Math.floor(shift / minute) === n).length,
    );
    expect(Math.min(...perMinute)).toBeGreaterThan(15);
  });

  it('stays the same at every time, in every process, for intervals as for cron', () => {
    // Written down: a new version would otherwise move the runs of every connector.
    expect(shiftOf(one)).toBe(127_947);
    for (const from of ['2026-01-01T00:00:00Z', '2026-07-01T10:31:07Z', '2027-12-31T23:59:59Z']) {
      const times = [hourly, cron('0 * * * *', 'UTC')].flatMap((each) => nextRuns(each, one, at(from), 3));
      for (const time of times) expect(time.getTime() % (60 * minute)).toBe(shiftOf(one));
    }
  });
});

describe('the next times', () => {
  it.each([hourly, { type: 'interval', minutes: 5 } as const, cron('*/15 * * * *')])(
    'of %j are after the given time, each the one after the other’s, also from the time of a run',
    (schedule) => {
      for (const connectorId of connectors.slice(0, 20)) {
        const times = nextRuns(schedule, connectorId, at('2026-06-01T12:00:00Z'), 5);
        expect(times[0]!.getTime()).toBeGreaterThan(at('2026-06-01T12:00:00Z').getTime());
        times.slice(0, 4).forEach((time, n) => {
          expect(nextRuns(schedule, connectorId, time, 1)).toEqual([times[n + 1]]);
        });
      }
    },
  );

  it('are none where it is manual', () => {
    expect(nextRuns({ type: 'manual' }, one, new Date(), 5)).toEqual([]);
    expect(nextRuns(null, one, new Date(), 5)).toEqual([]);
    expect(intervalOf(null, one, new Date())).toBeNull();
  });
});

describe('a cron across a change of daylight saving time', () => {
  it('keeps its time of day when clocks go forward and back', () => {
    expect(unshifted(cron('30 8 * * *'), '2026-03-27T12:00:00Z', 3)).toEqual([
      '2026-03-28T07:30Z',
      '2026-03-29T06:30Z',
      '2026-03-30T06:30Z',
    ]);
    expect(unshifted(cron('30 8 * * *'), '2026-10-23T12:00:00Z', 3)).toEqual([
      '2026-10-24T06:30Z',
      '2026-10-25T07:30Z',
      '2026-10-26T07:30Z',
    ]);
    expect(unshifted(cron('30 8 * * *', 'America/New_York'), '2026-03-07T14:00:00Z', 2)).toEqual([
      '2026-03-08T12:30Z',
      '2026-03-09T12:30Z',
    ]);
  });

  it('runs once on the day that has no such time, when the clocks have gone forward, and once on the day that has it twice', () => {
    const skipped = unshifted(cron('30 2 * * *'), '2026-03-28T12:00:00Z', 2);
    expect(skipped).toEqual(['2026-03-29T01:00Z', '2026-03-30T00:30Z']);
    const twice = unshifted(cron('30 2 * * *'), '2026-10-24T12:00:00Z', 2);
    expect(twice).toEqual(['2026-10-25T00:30Z', '2026-10-26T01:30Z']);
  });

  it('of every hour runs every hour of both nights', () => {
    for (const from of ['2026-03-28T22:30:00Z', '2026-10-24T22:30:00Z']) {
      const times = nextRuns(cron('0 * * * *'), one, at(from), 8);
      const gaps = times.slice(1).map((time, n) => time.getTime() - times[n]!.getTime());
      expect(new Set(gaps)).toEqual(new Set([60 * minute]));
    }
  });

  it('counts the longest day between two of its runs', () => {
    expect(intervalOf(cron('30 8 * * *'), one, at('2026-10-24T05:00:00Z'))).toBe(25 * 60 * minute);
    expect(intervalOf(cron('30 8 * * *'), one, at('2026-06-01T12:00:00Z'))).toBe(24 * 60 * minute);
  });
});
