import { availableParallelism } from 'node:os';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { parseWorkerConfig } from '#domain/foundation/kernel/config.ts';
import { workerPaces } from '#temporal/worker-paces.ts';

const unending = new AbortController().signal;
const config = parseWorkerConfig({
  DATABASE_URL: 'postgres://app:app@127.0.0.1:5432/platform',
  DATABASE_PURGE_URL: 'postgres://purge:purge@127.0.0.1:5432/platform',
  TEMPORAL_ADDRESS: '127.0.0.1:7233',
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** How many of 200 documents that are uploaded begin to be read at once. */
async function begunAtOnce(paces: ReturnType<typeof workerPaces>): Promise<number> {
  let begun = 0;
  for (let n = 0; n < 200; n += 1) void paces.uploads.take('a', unending).then(() => (begun += 1));
  await vi.advanceTimersByTimeAsync(0);
  return begun;
}

it('reads documents at once while nothing else is done', async () => {
  expect(await begunAtOnce(workerPaces(config))).toBe(200);
});

it('reads documents at a rate while passages are embedded', async () => {
  const paces = workerPaces(config);
  await paces.passages.take('b', unending);
  const begun = await begunAtOnce(paces);
  expect(begun).toBeGreaterThan(0);
  expect(begun).toBeLessThan(50);
});

it('reads all documents that wait soon after the embedding has ended', async () => {
  const paces = workerPaces(config);
  await paces.passages.take('b', unending);
  let begun = 0;
  for (let n = 0; n < 200; n += 1) void paces.uploads.take('a', unending).then(() => (begun += 1));
  await vi.advanceTimersByTimeAsync(900);
  expect(begun).toBeLessThan(200);
  await vi.advanceTimersByTimeAsync(200);
  expect(begun).toBe(200);
});

it('reads documents at a lower rate beside responses, whether or not passages are embedded', async () => {
  const [besideEmbedding, besideResponses, besideBoth] = [
    workerPaces(config),
    workerPaces(config),
    workerPaces(config),
  ];
  await besideEmbedding.passages.take('b', unending);
  besideResponses.turns.take('b');
  besideBoth.turns.take('b');
  await besideBoth.passages.take('b', unending);
  const begun = await begunAtOnce(besideResponses);
  expect(begun).toBeGreaterThan(0);
  expect(begun).toBeLessThan(25);
  expect(begun).toBeLessThan(await begunAtOnce(besideEmbedding));
  expect(await begunAtOnce(besideBoth)).toBeLessThanOrEqual(begun);
});

it('takes known vectors over at a rate beside responses, and at once while nothing else is done', async () => {
  const [alone, beside] = [workerPaces(config), workerPaces(config)];
  beside.turns.take('b');
  const begun = { alone: 0, beside: 0 };
  for (let n = 0; n < 200; n += 1) {
    void alone.reuse.take('a', unending).then(() => (begun.alone += 1));
    void beside.reuse.take('a', unending).then(() => (begun.beside += 1));
  }
  await vi.advanceTimersByTimeAsync(0);
  expect(begun.alone).toBe(200);
  expect(begun.beside).toBeGreaterThan(0);
  expect(begun.beside).toBeLessThan(25);
});

it.skipIf(availableParallelism() > 2)(
  'embeds at most 40 passages a second beside responses on at most two processors',
  async () => {
    const paces = workerPaces(config);
    let begun = 0;
    paces.turns.take('b');
    for (let n = 0; n < 2_000; n += 1) void paces.passages.take('a', unending).then(() => (begun += 1));
    await vi.advanceTimersByTimeAsync(8_000);
    expect(begun).toBeGreaterThan(30);
    // The first round begins what a second allows at first.
    expect(begun).toBeLessThanOrEqual(8 * 40 + 20);
  },
);
