import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { HistoryPlaces } from '#api/limits/history-places.ts';

const never = new AbortController().signal;

it('histories are read one at a time for each tenant, and too many at once are refused', async () => {
  const places = new HistoryPlaces();
  const { promise: end, resolve } = Promise.withResolvers<void>();
  let open = 0;
  let most = 0;
  const read = async () => {
    open += 1;
    most = Math.max(most, open);
    await end;
    open -= 1;
    return 'read';
  };
  const batch = Promise.allSettled(Array.from({ length: 20 }, () => places.run('tenant', never, read)));
  await turn();
  expect(open).toBe(1);
  const other = places.run('other', never, async () => 'other');
  expect(await other).toBe('other');
  resolve();
  const results = await batch;
  expect(most).toBe(1);
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  for (const result of results) {
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'rate_limited' });
  }
});
