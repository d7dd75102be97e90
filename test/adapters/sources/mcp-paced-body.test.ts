import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { boundedFetch } from '#adapters/egress/bounded-fetch.ts';
import { pacedBody } from '#adapters/sources/mcp/paced-body.ts';

it('a body that is aborted while it waits for its pace ends the answer and its limits of time', async () => {
  const exceeded: unknown[] = [];
  let isCancelled = false;
  const served = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(200_000)),
    cancel: () => {
      isCancelled = true;
    },
  });
  const fetch = boundedFetch('change_stream', {
    fetch: () => Promise.resolve(new Response(served)),
    limits: { maxEventBytes: null, totalMs: 300 },
    onLimitExceeded: (limit) => exceeded.push(limit),
  });
  const stop = new AbortController();
  let ends = 0;
  const paced = pacedBody(await fetch('https://a.example'), stop.signal, () => (ends += 1));
  const reader = paced.body!.getReader();
  await reader.read();
  const next = reader.read();
  next.catch(() => undefined);
  expect(await Promise.race([next, sleep(50, 'waits')])).toBe('waits');
  stop.abort(new Error('stopped'));
  await expect(next).rejects.toThrow(/abort/i);
  expect(ends).toBe(1);
  await sleep(500);
  expect({ isCancelled, exceeded }).toEqual({ isCancelled: true, exceeded: [] });
});
