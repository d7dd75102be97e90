import { expect, it } from 'vitest';
import { emptyDays } from '#adapters/sources/slack/empty-days.ts';
import { beginState, toCheckpoint } from '#adapters/sources/slack/listing-state.ts';

const scope = { history_days: 30, relist_hours: 24 };

it('the channels of a listing are compared with those of the one before in linear time', () => {
  const channels = Array.from({ length: 60_000 }, (_, n) => `C${String(n).padStart(10, '0')}`);
  const checkpoint = toCheckpoint(beginState(null, scope, channels), channels.toReversed());
  const before = process.cpuUsage();
  expect(beginState(checkpoint, scope, channels).mode).toBe('changes');
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(1_000);
  expect(beginState(checkpoint, scope, [...channels, 'CNEW']).mode).toBe('everything');
});

it('days without messages are those that the listing has read, whatever days a server names', () => {
  const at = (time: string) => Date.parse(time) / 1_000;
  // Messages of the first hour of the next day are read, too.
  const read = { began: at('2026-03-04T23:30:00Z'), oldest: at('2026-03-01T00:00:00Z') };
  const all = ['2026-03-01', '2026-03-02', '2026-03-03', '2026-03-04'];
  expect(emptyDays(read, null, null)).toEqual(all);
  expect(emptyDays(read, '2026-03-05', null)).toEqual(all);
  expect(emptyDays(read, '2099-01-01', '1970-01-01')).toEqual(all);
  expect(emptyDays(read, null, '2026-03-05')).toEqual([]);
  expect(emptyDays(read, '2026-03-04', '2026-03-01')).toEqual(all.slice(1, 3));
  expect(emptyDays(read, '2026-03-03', '2026-03-02')).toEqual([]);
  expect(emptyDays(read, '2026-03-01', null)).toEqual([]);
});
