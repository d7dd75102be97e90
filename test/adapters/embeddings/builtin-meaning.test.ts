import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { BuiltinModel } from '#adapters/embeddings/builtin-model.ts';
import { createEmbedders } from '#adapters/embeddings/create-embedders.ts';
import type { Embedder } from '#domain/knowledge/embeddings/embedder.ts';
import { embeddingModel, readyModel, realWeights } from '../../support/builtin-weights.ts';
import { vectorProcesses } from '#test/support/vector-processes.ts';

const never = new AbortController().signal;
const weights = await realWeights();

/** No vendor is asked here. */
const embeddersOf = (builtin: BuiltinModel) =>
  createEmbedders({
    builtin,
    fetch: () => Promise.reject(new Error('no network')),
    credential: () => undefined,
  });

const cosine = (a: Float32Array, b: Float32Array) => a.reduce((sum, each, at) => sum + each * b[at]!, 0);
const bytesOf = (vector: Float32Array) => Buffer.from(vector.buffer).toString('hex');

describe.skipIf(weights === null)('the builtin model, with its real weights', () => {
  let embedderOf: (tenantId: string) => Embedder;
  beforeAll(async () => {
    const embedders = embeddersOf(await readyModel());
    embedderOf = (tenantId) => embedders.of(embeddingModel({ tenantId }));
  });

  it('finds by meaning: a question is nearest to the passage that answers it without its words', async () => {
    const embedder = embedderOf('tenant');
    const { vector } = await embedder.embedQuery('How do I get my money back?', never);
    const passages = [
      'Refunds are issued within 14 days of purchase.',
      'My back hurts whenever I do the dishes.',
      'Money is kept in the vault of the bank.',
      'How do I get to the station on foot?',
      'The invoice names the sum and the date.',
    ];
    const { vectors, tokens } = await embedder.embedPassages(passages, never);
    const near = vectors.map((passage) => cosine(vector, passage));
    expect(near.indexOf(Math.max(...near))).toBe(0);
    expect(tokens).toBeGreaterThan(passages.length * 5);
  });

  it('gives vectors of length 1 and of its dimensions', async () => {
    const embedder = embedderOf('tenant');
    const { vectors } = await embedder.embedPassages(
      ['Tides follow the moon.', ' ', '漢字 ☂ \u{1f600}'],
      never,
    );
    for (const vector of vectors) {
      expect(vector).toHaveLength(embedder.dims);
      expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    }
  });

  it('gives the same bytes for a text whatever ran before or runs at the same time', async () => {
    const text = 'The gateway refuses a request without a key.';
    const others = Array.from(
      { length: 12 },
      (_, i) => `Sentence ${i} is ${'long and '.repeat(i * 9)}different.`,
    );
    const alone = (await embedderOf('a').embedPassages([text], never)).vectors[0]!;
    const [first, second, query] = await Promise.all([
      embedderOf('a').embedPassages([...others, text], never),
      embedderOf('b').embedPassages([text, ...others.toReversed()], never),
      queryVector(text),
    ]);
    expect(bytesOf(first.vectors.at(-1)!)).toBe(bytesOf(alone));
    expect(bytesOf(second.vectors[0]!)).toBe(bytesOf(alone));
    // The thread of queries has a session of its own.
    expect(bytesOf(query)).toBe(bytesOf(alone));
    expect(bytesOf(first.vectors[0]!)).not.toBe(bytesOf(alone));
  });
  const queryVector = async (text: string) => {
    const embedder = embeddersOf(await readyModel()).of(embeddingModel({ queryPrefix: '' }));
    return (await embedder.embedQuery(text, never)).vector;
  };

  it.runIf(process.platform === 'linux')('reports nothing to the vendor of its runtime', async () => {
    const embedder = embedderOf('private');
    await embedder.embedPassages(['Tides follow the moon.'], never);
    await embedder.embedQuery('tides', never);
    // The runtime's log of its reports.
    const logs = [process.pid, ...vectorProcesses()].map((pid) => `/tmp/mat-debug-${pid}.log`);
    expect(logs.length).toBeGreaterThan(1);
    expect(logs.filter((log) => existsSync(log))).toEqual([]);
  });

  it.runIf(process.platform === 'linux').each([
    ['a fault', 'SIGSEGV'],
    ['an abort', 'SIGABRT'],
  ] as const)('tries a text whose process ended by %s once more, and refuses it then', async (_, signal) => {
    const text = 'long and '.repeat(400);
    const embedding = embedderOf('crashed').embedPassages(
      Array.from({ length: 400 }, (_, i) => `${i} ${text}`),
      never,
    );
    const failures: unknown[] = [];
    embedding.catch((error: unknown) => failures.push(error));
    // The first process of the text, and its second.
    const killed = new Set<number>();
    while (failures.length === 0) {
      for (const pid of vectorProcesses().filter((each) => !killed.has(each))) {
        process.kill(pid, signal);
        killed.add(pid);
      }
      await sleep(20);
    }
    expect(killed.size).toBeGreaterThan(1);
    await expect(embedding).rejects.toMatchObject({ code: 'malformed' });
  });

  it.runIf(process.platform === 'linux')(
    'fails as unavailable when its process is killed, and embeds in another one after that',
    async () => {
      const embedder = embedderOf('killed');
      // Behind the texts of the tests before.
      await embedder.embedPassages(['Tides follow the moon.'], never);
      const texts = Array.from(
        { length: 100 },
        (_, i) => `Passage ${i} is ${'long and '.repeat(100)}different.`,
      );
      const embedding = embedder.embedPassages(texts, never);
      embedding.catch(() => undefined);
      await expect.poll(vectorProcesses).not.toEqual([]);
      vectorProcesses().forEach((pid) => process.kill(pid, 'SIGKILL'));
      await expect(embedding).rejects.toMatchObject({ code: 'unavailable' });
      expect((await embedder.embedPassages(['Tides follow the moon.'], never)).vectors).toHaveLength(1);
    },
  );

  it('truncates a longer text at its max tokens', async () => {
    const words = Array.from({ length: 700 }, (_, i) => (i % 2 === 0 ? 'river' : 'stone'));
    const { vectors, tokens } = await embedderOf('tenant').embedPassages(
      [words.join(' '), words.slice(0, 600).join(' '), words.slice(0, 400).join(' ')],
      never,
    );
    expect(tokens).toBe(512 + 512 + 402);
    expect(bytesOf(vectors[0]!)).toBe(bytesOf(vectors[1]!));
    expect(bytesOf(vectors[0]!)).not.toBe(bytesOf(vectors[2]!));
  });

  it('embeds a hostile text in bounded time', async () => {
    const hostile = [
      'a'.repeat(2_000_000),
      ' '.repeat(2_000_000),
      '[SEP]'.repeat(400_000),
      '\ud800\u0000é'.repeat(9_000),
    ];
    const begun = Date.now();
    const { vectors } = await embedderOf('tenant').embedPassages(hostile, never);
    expect(vectors.every((vector) => Math.abs(Math.hypot(...vector) - 1) < 1e-4)).toBe(true);
    expect(Date.now() - begun).toBeLessThan(30_000);
  });

  it('lets a tenant in between the passages of another, and stops for a cancelled caller', async () => {
    const stop = new AbortController();
    const passages = Array.from({ length: 400 }, (_, i) => `Passage ${i} of a large document about rivers.`);
    let done = false;
    const large = embedderOf('large')
      .embedPassages(passages, stop.signal)
      .finally(() => (done = true));
    large.catch(() => undefined);
    await embedderOf('small').embedPassages(['One short passage.'], never);
    expect(done).toBe(false);
    stop.abort(new Error('enough'));
    await expect(large).rejects.toThrow('enough');
    // Nothing of it is left in front of another.
    const { vectors } = await embedderOf('small').embedPassages(['One short passage.'], never);
    expect(vectors).toHaveLength(1);
  });
});
