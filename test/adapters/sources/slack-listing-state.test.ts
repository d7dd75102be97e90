import { expect, it } from 'vitest';
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
