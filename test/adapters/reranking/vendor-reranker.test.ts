import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AnswerLimits } from '#adapters/egress/answer-limits.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createRerankers } from '#adapters/reranking/create-rerankers.ts';
import type { VendorOptions } from '#adapters/models/vendor-gateway.ts';
import type { CredentialUse } from '#domain/capabilities/credentials/credential-source.ts';
import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';
import { RerankingFailure } from '#domain/knowledge/reranking/reranker.ts';
import {
  RerankingModel,
  rerankingProviders,
  type RerankingProvider,
} from '#domain/knowledge/reranking/reranking-model.entity.ts';
import { countThreadMs } from '../../support/thread-time.ts';
import {
  startRerankServer,
  type RerankScript,
  type RerankServer,
} from '../../support/wire-fakes/rerank-server.ts';

const never = new AbortController().signal;
const question = 'Which colour has the beacon?';
const passages = ['Tides turn twice.', 'The beacon has a colour: blue.', 'The beacon is old.'];

let server: RerankServer;
let uses: CredentialUse[];
beforeEach(async () => {
  server = await startRerankServer();
  uses = [];
});
afterEach(() => server.stop());

const rerankersOf = (options: Partial<VendorOptions> & { limits?: Partial<AnswerLimits> } = {}) =>
  createRerankers({
    fetch: createGuardedFetch([server.origin]),
    credential: () => 'a key of the deployment',
    stored: {
      read: async (use) => {
        uses.push(use);
        return {
          version: 1,
          header: { name: 'Authorization', value: 'Bearer vendor-secret' },
          token: 'vendor-secret',
          secrets: ['vendor-secret'],
        };
      },
      refused: () => undefined,
    },
    ...options,
  });

const row = (providerKind: RerankingProvider, settings: Partial<RerankingModel> = {}): RerankingModel =>
  Object.assign(Object.create(RerankingModel.prototype) as RerankingModel, {
    tenantId: 'tenant',
    id: 'judge',
    alias: 'judge',
    providerKind,
    providerModel: 'judge-1',
    baseUrl: server.baseUrl(providerKind),
    credentialId: 'vendor-key',
    maxTokens: 512,
    scoreScale: 'probability',
    microUsdPerMillion: 0,
    microUsdPerThousandSearches: 0,
    ...settings,
  });
const rerank = (kind: RerankingProvider, settings: Partial<RerankingModel> = {}, texts = passages) =>
  rerankersOf().of(row(kind, settings)).rerank(question, texts, never);
async function failureOf(
  kind: RerankingProvider,
  script: RerankScript,
  settings: Partial<RerankingModel> = {},
): Promise<RerankingFailure> {
  server.scripts.push(script);
  const failure = await rerank(kind, settings).then(
    () => null,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(RerankingFailure);
  return failure as RerankingFailure;
}

/** Processor time of this thread, in milliseconds: the least of three times, of which one may collect the heap. */
async function busyFor(work: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < 3; n += 1) {
    const busyMs = countThreadMs();
    await work();
    times.push(busyMs());
  }
  return Math.min(...times);
}

it.each(['jina', 'text_embeddings_inference'] as const)(
  'a long question is measured once, and not with each passage: %s',
  async (kind) => {
    const long = 'é.ñ,ü '.repeat(660);
    const judge = rerankersOf().of(row(kind, { maxTokens: 32_000 }));
    const texts = Array.from({ length: 96 }, (_, n) => `Passage ${n}.`);
    await judge.rerank(long, texts, never);
    const whole = await busyFor(() => judge.rerank(long, texts, never));
    const estimates = await busyFor(() => texts.map((text) => estimateTokens(long + text)));
    expect(whole).toBeLessThan(estimates / 2);
  },
);

describe.each(rerankingProviders)('a model of %s', (kind) => {
  it('is asked in its own format, with the stored key, and its scores are in the order of the passages', async () => {
    server.judge = (_query, text) => [0.25, 0.875, 0.5][passages.indexOf(text)]!;
    const { scores, tokens, searches } = await rerank(kind);
    expect(scores).toEqual([0.25, 0.875, 0.5]);
    const [request] = server.requests;
    expect(request).toMatchObject({ query: question, texts: passages, refusal: null });
    expect(request!.headers.authorization).toBe('Bearer vendor-secret');
    expect(uses).toMatchObject([{ tenantId: 'tenant', credentialId: 'vendor-key', spaceId: null }]);
    expect(searches).toBe(1);
    // Two of them count no tokens: those are estimated.
    const counted = !['cohere', 'text_embeddings_inference'].includes(kind);
    expect(counted ? tokens : Math.sign(tokens)).toBe(counted ? 33 : 1);
  });

  it.each([
    'wrong_index',
    'negative_index',
    'duplicate_index',
    'one_short',
    'one_more',
    'nan',
    'null_score',
    'infinite',
    'out_of_scale',
    'text_score',
    'no_results',
    'not_json',
    'gzip_bomb',
    'nested',
    'many_values',
    'flood',
  ] as const)('that answers wrongly (%s) gives no score', async (script) => {
    expect(await failureOf(kind, script)).toMatchObject({ code: 'malformed' });
    expect((await rerank(kind)).scores).toHaveLength(3);
  });

  it('has no more tokens and searches than it was sent', async () => {
    server.scripts.push('huge_usage');
    const { tokens, searches } = await rerank(kind);
    expect(tokens).toBeLessThan(1_000);
    expect(searches).toBeLessThanOrEqual(passages.length);
  });
});

describe('the scores of a model', () => {
  it.each([
    ['probability', [0.1, 0.9, 1.0004], [0.1, 0.9, 1]],
    ['cosine', [-0.5, 1, 0], [0.25, 1, 0.5]],
    ['logit', [-800, 0, 5], [0, 0.5, 1 / (1 + Math.exp(-5))]],
  ] as const)('in the scale %s become 0 to 1', async (scoreScale, given, scores) => {
    server.judge = (_query, text) => given[passages.indexOf(text)]!;
    expect((await rerank('rerank_compatible', { scoreScale })).scores).toEqual(scores);
  });

  it('are refused outside their scale', async () => {
    server.judge = () => -3;
    for (const scoreScale of ['probability', 'cosine'] as const) {
      expect(await failureOf('jina', 'answer', { scoreScale })).toMatchObject({ code: 'malformed' });
    }
  });

  it('are asked raw of a server that knows both', async () => {
    await rerank('text_embeddings_inference', { scoreScale: 'logit' });
    expect(server.requests[0]!.body).toMatchObject({ raw_scores: true, truncate: true });
  });
});

describe('many and long texts', () => {
  it('are split where the server takes fewer, and their scores joined', async () => {
    const texts = Array.from({ length: 70 }, (_, n) => `Passage ${n}.`);
    server.judge = (_query, text) => texts.indexOf(text) / 100;
    const { scores, searches } = await rerank('text_embeddings_inference', {}, texts);
    expect(scores).toEqual(texts.map((_, n) => n / 100));
    expect(server.requests.map((each) => each.texts.length)).toEqual([32, 32, 6]);
    expect(searches).toBe(3);
  });

  it('are truncated together to what the model takes', async () => {
    const long = 'beacon '.repeat(4_000);
    const model = row('rerank_compatible', { maxTokens: 128 });
    const { scores } = await rerankersOf().of(model).rerank(long, [long, 'short'], never);
    expect(scores).toHaveLength(2);
    const [{ query, texts }] = server.requests as [RerankServer['requests'][0]];
    expect(query.length).toBeGreaterThan(100);
    expect(query.length + texts[0]!.length).toBeLessThan(128 * 8);
    expect(texts[1]).toBe('short');
  });

  it('may come back in the answer with an escape for each letter', async () => {
    const texts = Array.from({ length: 20 }, () => 'ü'.repeat(3_000));
    expect((await rerank('rerank_compatible', { maxTokens: 100_000 }, texts)).scores).toHaveLength(20);
  });
});

describe('a model that does not answer', () => {
  it.each([
    [401, {}, 'refused'],
    [404, {}, 'refused'],
    [413, {}, 'refused'],
    [422, {}, 'refused'],
    [302, { location: 'https://elsewhere.example.com' }, 'refused'],
    [500, {}, 'unavailable'],
    [503, {}, 'unavailable'],
  ] as const)('but with status %i is %s', async (status, headers, code) => {
    const failure = await failureOf('rerank_compatible', { status, headers });
    expect(failure).toMatchObject({ code });
    expect(failure.message).not.toContain('beacon');
  });

  it('names a time until which it is not asked again', async () => {
    const rerankers = rerankersOf();
    const ask = (settings = {}) => rerankers.of(row('cohere', settings)).rerank(question, passages, never);
    server.scripts.push({ status: 429, headers: { 'retry-after': '1' } });
    await expect(ask()).rejects.toMatchObject({ code: 'unavailable' });
    await expect(ask()).rejects.toMatchObject({ code: 'unavailable' });
    expect(server.requests).toHaveLength(1);
    expect((await ask({ id: 'other' })).scores).toHaveLength(3);
    // Nor need an administrator wait who changes the credential or the address.
    expect((await ask({ credentialId: 'another-key' })).scores).toHaveLength(3);
    expect((await ask({ baseUrl: `${server.baseUrl('cohere')}/` })).scores).toHaveLength(3);
    await expect(ask()).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('is given up at the caller’s time, and its connection is closed', async () => {
    for (const script of ['silence', 'drip'] as const) {
      server.scripts.push(script);
      const limited = rerankersOf().of(row('jina')).rerank(question, passages, AbortSignal.timeout(150));
      await expect(limited).rejects.toMatchObject({ name: 'TimeoutError' });
      await expect.poll(() => server.open()).toBe(0);
    }
  });

  it('is given up after its own time, too', async () => {
    server.scripts.push('silence');
    const reranker = rerankersOf({ limits: { headersMs: 200 } }).of(row('jina'));
    await expect(reranker.rerank(question, passages, never)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('at a private address that is not allowed is refused', async () => {
    const inside = row('rerank_compatible', { baseUrl: 'http://127.0.0.1:9/v1' });
    await expect(rerankersOf().of(inside).rerank(question, passages, never)).rejects.toMatchObject({
      code: 'refused',
    });
  });

  it('holds few calls of its tenant', async () => {
    const rerankers = rerankersOf();
    server.scripts.push(...Array.from({ length: 8 }, () => 'silence' as const));
    const stop = new AbortController();
    const ask = (tenantId: string, signal: AbortSignal) =>
      rerankers.of(row('jina', { tenantId })).rerank(question, passages, signal);
    const waiting = Array.from({ length: 8 }, () => ask('slow', stop.signal).catch(() => 'stopped'));
    await expect.poll(() => server.requests.length).toBe(8);
    await expect(ask('slow', never)).rejects.toMatchObject({ code: 'unavailable' });
    expect((await ask('other', never)).scores).toHaveLength(3);
    stop.abort();
    await Promise.all(waiting);
  });
});
