import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CheckPlaces } from '#api/limits/check-places.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';

const staying = new AbortController().signal;
const limits = { slots: 3, slotsPerKey: 1, waitersPerKey: 1, waitMs: 100, totalMs: 300 };

describe('checks of sources', () => {
  it('end after their time, also where the source ignores that, and keep their place until it answers', async () => {
    const places = new CheckPlaces(limits);
    let answer: (text: string) => void = () => {};
    const hanging = new Promise<string>((resolve) => (answer = resolve));
    const began = Date.now();
    expect(await places.run('a', staying, () => hanging, 'late')).toBe('late');
    expect(Date.now() - began).toBeLessThan(2_000);
    await expect(places.run('a', staying, async () => 'well', 'late')).rejects.toMatchObject({
      code: 'rate_limited',
    });
    expect(await places.run('b', staying, async () => 'well', 'late')).toBe('well');
    answer('well');
    await sleep(10);
    expect(await places.run('a', staying, async () => 'well', 'late')).toBe('well');
  });

  it('that wait too many at once for one tenant are refused at once', async () => {
    // Which of them wait is decided at once; those that do are to have their turn.
    const places = new CheckPlaces({ ...limits, waitMs: 10_000, totalMs: 10_000 });
    const slow = () => sleep(50, 'well');
    const all = await Promise.allSettled(
      Array.from({ length: 4 }, () => places.run('a', staying, slow, 'late')),
    );
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(all.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'rate_limited', detail: { retryAfter: 2 } },
    });
  });

  it('end with their client, whose signal the source receives', async () => {
    const places = new CheckPlaces(limits);
    const client = new AbortController();
    let seen: AbortSignal | null = null;
    const running = places.run('a', client.signal, (signal) => ((seen = signal), sleep(5_000, 'x')), 'late');
    client.abort(new DomainError('request_timeout', 'The client has disconnected.'));
    await expect(running).rejects.toMatchObject({ code: 'request_timeout' });
    expect((seen as AbortSignal | null)?.aborted).toBe(true);
  });
});
