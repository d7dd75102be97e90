import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { AdaptiveRate } from '#domain/foundation/kernel/adaptive-rate.ts';
import { BulkTurns } from '#domain/foundation/kernel/bulk-turns.ts';

const unending = new AbortController().signal;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Units of tenants that have begun, in their order. */
function begun(pressure: boolean | null = null) {
  let isContended = true;
  const turns = new BulkTurns({
    rate: new AdaptiveRate({ perSecond: 20, pressure: () => pressure, isDemandPaced: true }),
    isContended: () => isContended,
  });
  const order: string[] = [];
  return {
    order,
    take: (tenant: string, signal = unending) =>
      turns.take(tenant, signal).then(() => void order.push(tenant)),
    pass: (ms: number) => vi.advanceTimersByTimeAsync(ms),
    ends: () => (isContended = false),
    begins: () => (isContended = true),
  };
}

it('begins at once while there is no other work', async () => {
  const { order, take, ends } = begun();
  ends();
  for (let n = 0; n < 1_000; n += 1) await take('a');
  expect(order).toHaveLength(1_000);
});

it('keeps the rate while there is', async () => {
  const { order, take, pass } = begun();
  // The first round has the units of a second.
  for (let n = 0; n < 200; n += 1) void take('a');
  await pass(50);
  const first = order.length;
  await pass(2_000);
  expect(first).toBeLessThanOrEqual(21);
  expect(order.length - first).toBeGreaterThanOrEqual(38);
  expect(order.length - first).toBeLessThanOrEqual(42);
});

it('gives tenants turns: a long queue delays no other', async () => {
  const { order, take, pass } = begun();
  for (let n = 0; n < 200; n += 1) void take('a');
  await pass(50);
  const before = order.length;
  void take('b');
  await pass(200);
  expect(order.slice(before)).toContain('b');
});

it('begins all that wait when there is no other work any more', async () => {
  const { order, take, pass, ends } = begun();
  for (let n = 0; n < 200; n += 1) void take('a');
  ends();
  await pass(100);
  expect(order).toHaveLength(200);
});

it('rises on an idle machine as far as units are asked for one after the other', async () => {
  const { order, take, pass } = begun(false);
  const lane = async () => {
    for (let n = 0; n < 500; n += 1) {
      await take('a');
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  };
  void lane();
  void lane();
  await pass(10_000);
  const before = order.length;
  await pass(4_000);
  // Two lanes of 25 units a second.
  expect(order.length - before).toBeGreaterThan(190);
});

it('forgets a unit that is cancelled while it waits, which takes nobody’s turn', async () => {
  const { order, take, pass } = begun();
  for (let n = 0; n < 20; n += 1) void take('a');
  const leaving = new AbortController();
  const left = take('a', leaving.signal);
  const refused = expect(left).rejects.toThrow('over');
  void take('a');
  leaving.abort(new Error('over'));
  await refused;
  await pass(60);
  expect(order).toHaveLength(21);
  await expect(take('a', AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
});

it('is in use for a second after the last request for a unit', async () => {
  const turns = new BulkTurns({
    rate: new AdaptiveRate({ perSecond: 20, pressure: () => null }),
    isContended: () => false,
  });
  expect(turns.isUsed()).toBe(false);
  await turns.take('a', unending);
  await vi.advanceTimersByTimeAsync(900);
  expect(turns.isUsed()).toBe(true);
  await turns.take('b', unending);
  await vi.advanceTimersByTimeAsync(900);
  expect(turns.isUsed()).toBe(true);
  await vi.advanceTimersByTimeAsync(200);
  expect(turns.isUsed()).toBe(false);
});
