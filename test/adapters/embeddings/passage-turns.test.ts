import { expect, it } from 'vitest';
import { builtinEmbedder } from '#adapters/embeddings/builtin-embedder.ts';
import type { Infer } from '#adapters/embeddings/inference-pools.ts';
import { AdaptiveRate } from '#domain/foundation/kernel/adaptive-rate.ts';
import { BulkTurns } from '#domain/foundation/kernel/bulk-turns.ts';
import { embeddingModel } from '#test/support/builtin-weights.ts';

const never = new AbortController().signal;

/** The builtin model without its weights. */
function embedderWith(turns: BulkTurns) {
  const embedded: string[] = [];
  const infer: Infer = (_tenantId, text) => {
    embedded.push(text);
    return Promise.resolve({ vector: new Float32Array(384), tokens: 1 });
  };
  const embedder = builtinEmbedder(embeddingModel(), { passage: infer, query: infer }, (...asked) =>
    turns.take(...asked),
  );
  return { embedder, embedded };
}

/** Five a second, whatever the machine does. */
const fiveASecond = (isContended: () => boolean) =>
  new BulkTurns({
    rate: new AdaptiveRate({ perSecond: 5, pressure: () => null }),
    isContended,
  });

it('passages take turns while others are answered, and a question takes none', async () => {
  const { embedder, embedded } = embedderWith(fiveASecond(() => true));
  const texts = Array.from({ length: 8 }, (_, n) => `Text ${n}.`);
  const startedAt = performance.now();
  const passages = embedder.embedPassages(texts, never);
  await expect.poll(() => embedded.length).toBeGreaterThanOrEqual(5);
  await embedder.embedQuery('A question?', never);
  const { vectors } = await passages;
  expect(vectors).toHaveLength(8);
  // Three units at five a second.
  expect(performance.now() - startedAt).toBeGreaterThan(500);
  expect(embedded).toHaveLength(9);
});

it('passages do not wait for anything else', async () => {
  const { embedder, embedded } = embedderWith(fiveASecond(() => false));
  const texts = Array.from({ length: 500 }, (_, n) => `Text ${n}.`);
  await embedder.embedPassages(texts, never);
  expect(embedded).toHaveLength(500);
});

it('a passage that waits for its turn is given up with its caller', async () => {
  const { embedder, embedded } = embedderWith(fiveASecond(() => true));
  const stop = new AbortController();
  const passages = embedder.embedPassages(
    Array.from({ length: 50 }, (_, n) => `Text ${n}.`),
    stop.signal,
  );
  await expect.poll(() => embedded.length).toBeGreaterThanOrEqual(5);
  stop.abort(new Error('The caller has left.'));
  await expect(passages).rejects.toThrow('The caller has left.');
  expect(embedded.length).toBeLessThan(50);
});
