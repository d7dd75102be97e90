import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AnswerLimits } from '#adapters/egress/answer-limits.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createBuiltinModel, modelFilesSource } from '#adapters/embeddings/create-builtin-model.ts';
import { createEmbedders, type EmbedderOptions } from '#adapters/embeddings/create-embedders.ts';
import { CredentialFailure, type CredentialUse } from '#domain/capabilities/credentials/credential-source.ts';
import { EmbeddingFailure, type Embedder } from '#domain/knowledge/embeddings/embedder.ts';
import type {
  EmbeddingModel,
  EmbeddingProvider,
} from '#domain/knowledge/embeddings/embedding-model.entity.ts';
import { embeddingModel } from '../../support/builtin-weights.ts';
import {
  serverVector,
  startEmbeddingServer,
  type EmbeddingScript,
  type EmbeddingServer,
} from '../../support/embedding-server.ts';

const dims = 48;
const never = new AbortController().signal;

let server: EmbeddingServer;
beforeEach(async () => {
  server = await startEmbeddingServer(dims);
});
afterEach(() => server.stop());

/** The vendor's key as a bearer token. */
const vendorKey = {
  read: async () => ({
    version: 1,
    header: { name: 'Authorization', value: 'Bearer vendor-secret' },
    token: 'vendor-secret',
    secrets: ['vendor-secret'],
  }),
  refused: () => undefined,
};

const embeddersOf = (options: Partial<EmbedderOptions> & { limits?: Partial<AnswerLimits> } = {}) =>
  createEmbedders({
    builtin: createBuiltinModel(modelFilesSource({}, {})),
    fetch: createGuardedFetch([server.origin]),
    credential: () => undefined,
    stored: vendorKey,
    ...options,
  });
const row = (kind: EmbeddingProvider, settings: Partial<EmbeddingModel> = {}) =>
  embeddingModel({
    providerKind: kind,
    providerModel: 'words-1',
    baseUrl: `${server.origin}/v1`,
    credentialId: 'vendor-key',
    dims,
    maxTokens: 2_048,
    queryPrefix: '',
    ...settings,
  });
const embedderOf = (kind: EmbeddingProvider, settings: Partial<EmbeddingModel> = {}): Embedder =>
  embeddersOf().of(row(kind, settings));

const unit = (text: string) => {
  const vector = serverVector(text, dims);
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (each) => each / length);
};

/** The failure of one call with these answers. */
async function failureOf(embedder: Embedder, ...scripts: EmbeddingScript[]): Promise<EmbeddingFailure> {
  server.scripts.push(...scripts);
  const error: unknown = await embedder
    .embedPassages(['a secret text', 'another'], never)
    .catch((e: unknown) => e);
  expect(error).toBeInstanceOf(EmbeddingFailure);
  expect(JSON.stringify([error, String(error), (error as Error).stack])).not.toMatch(
    /a secret text|vendor-secret/,
  );
  return error as EmbeddingFailure;
}

describe('the wire', () => {
  it('of OpenAI has the dimensions of the row, and its key', async () => {
    const { vectors, tokens } = await embedderOf('openai').embedPassages(['one', 'three'], never);
    expect(vectors).toEqual([unit('one'), unit('three')]);
    expect(tokens).toBe(14);
    expect(server.requests).toMatchObject([
      {
        path: '/v1/embeddings',
        headers: { authorization: 'Bearer vendor-secret' },
        body: { model: 'words-1', dimensions: dims, encoding_format: 'float' },
      },
    ]);
    await embedderOf('openai', { providerModel: 'text-embedding-ada-002' }).embedQuery('four', never);
    expect(server.requests[1]?.body).not.toHaveProperty('dimensions');
  });

  it('counts no more tokens of a text than it can have, whatever the server says', async () => {
    const data = [{ object: 'embedding', index: 0, embedding: serverVector('one', dims) }];
    const usage = { prompt_tokens: Number.MAX_SAFE_INTEGER, total_tokens: 0 };
    server.scripts.push({ status: 200, body: { object: 'list', data, usage } });
    expect(await embedderOf('openai').embedPassages(['one'], never)).toMatchObject({ tokens: 67 });
  });

  it('of Google has the task of a query or of a document', async () => {
    const embedder = embedderOf('google');
    const { vector, tokens } = await embedder.embedQuery('What is a tide?', never);
    await embedder.embedPassages(['The moon pulls.', 'The sea rises.'], never);
    expect(vector).toEqual(unit('What is a tide?'));
    expect(tokens).toBeGreaterThan(2);
    const [query, passages] = server.requests;
    expect(query).toMatchObject({
      path: '/v1/models/words-1:batchEmbedContents',
      headers: { 'x-goog-api-key': 'vendor-secret' },
      body: {
        requests: [{ model: 'models/words-1', taskType: 'RETRIEVAL_QUERY', outputDimensionality: dims }],
      },
    });
    expect(passages?.body['requests']).toMatchObject([
      { taskType: 'RETRIEVAL_DOCUMENT' },
      { taskType: 'RETRIEVAL_DOCUMENT' },
    ]);
  });

  it('of other servers has the prefixes of the row, no dimensions, and no key where there is none', async () => {
    const embedder = embedderOf('openai_compatible', {
      queryPrefix: 'query: ',
      passagePrefix: 'passage: ',
      credentialId: null,
    });
    await embedder.embedQuery('tides', never);
    await embedder.embedPassages(['tides'], never);
    expect(server.requests.map(({ texts }) => texts)).toEqual([['query: tides'], ['passage: tides']]);
    expect(server.requests[0]?.body).not.toHaveProperty('dimensions');
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('gives each text its own vector also when the server answers in another order', async () => {
    server.scripts.push('shuffled');
    const { vectors } = await embedderOf('openai_compatible').embedPassages(
      ['one', 'three', 'fifteen'],
      never,
    );
    expect(vectors).toEqual(['one', 'three', 'fifteen'].map(unit));
  });

  it.each([
    ['openai', 128],
    ['google', 100],
  ] as const)(
    'of %s has at most %i texts in a request, and all of them in their order',
    async (kind, max) => {
      const texts = Array.from({ length: 300 }, (_, i) => `passage ${i}`);
      const { vectors, tokens } = await embedderOf(kind).embedPassages(texts, never);
      expect(vectors).toEqual(texts.map(unit));
      expect(tokens).toBeGreaterThanOrEqual(600);
      expect(server.requests.map((request) => request.texts.length)).toEqual([max, max, 300 - 2 * max]);
    },
  );

  it('has no more tokens in a request than vendors take, and truncates a text at its max', async () => {
    const long = 'river stone '.repeat(8_000);
    await embedderOf('openai', { maxTokens: 8_192 }).embedPassages(
      Array.from({ length: 30 }, () => long),
      never,
    );
    const sizes = server.requests.map(({ texts }) => texts.join('').length);
    expect(server.requests.flatMap(({ texts }) => texts)).toHaveLength(30);
    expect(
      Math.max(...server.requests.flatMap(({ texts }) => texts.map((text) => text.length))),
    ).toBeLessThan(long.length);
    // At least three characters a token: far below 300,000 tokens.
    expect(Math.max(...sizes)).toBeLessThan(900_000);
  });

  it('sends a stored credential of the whole tenant in its own header', async () => {
    const uses: CredentialUse[] = [];
    const stored = {
      read: async (use: CredentialUse) => {
        uses.push(use);
        if (use.tenantId !== 'tenant') {
          throw new CredentialFailure('missing');
        }
        return { version: 1, header: { name: 'X-Key', value: 'kept' }, token: null, secrets: ['kept'] };
      },
      refused: () => undefined,
    };
    const settings = { credentialId: 'credential' };
    await embeddersOf({ stored }).of(row('openai', settings)).embedQuery('tides', never);
    expect(server.requests[0]?.headers).toMatchObject({ 'x-key': 'kept' });
    expect(uses).toMatchObject([{ tenantId: 'tenant', spaceId: null, url: `${server.origin}/v1` }]);
    const foreign = embeddersOf({ stored }).of(row('openai', { ...settings, tenantId: 'other' }));
    await expect(foreign.embedQuery('tides', never)).rejects.toMatchObject({ code: 'refused' });
    expect(server.requests).toHaveLength(1);
  });
});

describe('a vendor that refuses', () => {
  it('is not asked again before the time that it names, by no document of the tenant', async () => {
    const embedders = embeddersOf();
    const limited = { status: 429, headers: { 'retry-after': '1' } };
    const failure = await failureOf(embedders.of(row('openai')), limited);
    expect(failure).toMatchObject({ code: 'rate_limited', retryAfterMs: 1_000, isRetryable: true });
    const again = await failureOf(embedders.of(row('openai')));
    expect(again.code).toBe('rate_limited');
    expect(again.retryAfterMs).toBeLessThanOrEqual(1_000);
    expect(server.requests).toHaveLength(1);
    // Another tenant, and another model of this one, have limits of their own.
    await embedders.of(row('openai', { tenantId: 'other' })).embedQuery('tides', never);
    await embedders.of(row('openai', { id: 'other' })).embedQuery('tides', never);
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    await embedders.of(row('openai')).embedQuery('tides', never);
    expect(server.requests).toHaveLength(4);
  });

  it('is asked at once at another address, with another credential, or with a new key', async () => {
    let version = 1;
    const stored = { ...vendorKey, read: async () => ({ ...(await vendorKey.read()), version }) };
    const embedders = embeddersOf({ stored });
    const limited = { status: 429, headers: { 'retry-after': '600' } };
    await failureOf(embedders.of(row('openai')), limited);
    expect((await failureOf(embedders.of(row('openai')))).code).toBe('rate_limited');
    await embedders.of(row('openai', { baseUrl: `${server.origin}/v1/` })).embedQuery('tides', never);
    await embedders.of(row('openai', { credentialId: 'another-key' })).embedQuery('tides', never);
    version = 2;
    await embedders.of(row('openai')).embedQuery('tides', never);
    expect(server.requests).toHaveLength(4);
  });

  it('may name its time as a date', async () => {
    const date = new Date(Date.now() + 90_000).toUTCString();
    const failure = await failureOf(embedderOf('google'), { status: 429, headers: { 'retry-after': date } });
    expect(failure.retryAfterMs).toBeGreaterThan(80_000);
    expect(failure.retryAfterMs).toBeLessThanOrEqual(90_000);
  });

  it.each([
    [401, {}, 'refused', false],
    [404, {}, 'refused', false],
    [429, { error: { code: 'insufficient_quota' } }, 'refused', false],
    [400, { error: { message: 'Invalid input' } }, 'refused', false],
    [400, { error: { message: "This model's maximum context length is 8192 tokens" } }, 'too_large', false],
    [413, {}, 'too_large', false],
    [500, {}, 'unavailable', true],
    [302, {}, 'refused', false],
  ] as const)('with status %i and %j is reported as %s', async (status, body, code, isRetryable) => {
    expect(await failureOf(embedderOf('openai'), { status, body })).toMatchObject({ code, isRetryable });
  });

  it('is not reached: unavailable; at a private address that is not allowed: refused', async () => {
    const closed = embedderOf('openai', { baseUrl: 'http://127.0.0.1:9/v1' });
    expect(await failureOf(closed)).toMatchObject({ code: 'refused' });
    const { origin } = server;
    const gone = embeddersOf({ fetch: createGuardedFetch([origin]) }).of(row('openai'));
    await server.stop();
    expect(await failureOf(gone)).toMatchObject({ code: 'unavailable' });
    server = await startEmbeddingServer(dims);
  });
});

describe('a server that answers wrongly', () => {
  it.each(['one_short', 'wrong_dims', 'nan', 'zero', 'not_json', 'gzip_bomb'] as const)(
    '(%s) gives no vector',
    async (script) => {
      for (const kind of ['openai', 'google', 'openai_compatible'] as const) {
        expect(await failureOf(embedderOf(kind), script)).toMatchObject({
          code: 'malformed',
          isRetryable: false,
        });
      }
    },
  );

  it.each(['many_values', 'nested'] as const)('(%s) is refused before it is parsed', async (script) => {
    const embedder = embedderOf('openai');
    await embedder.embedQuery('tides', never);
    const parse = vi.spyOn(JSON, 'parse');
    try {
      server.scripts.push(script);
      await expect(embedder.embedQuery('tides', never)).rejects.toMatchObject({ code: 'malformed' });
      const longest = Math.max(0, ...parse.mock.calls.map(([text]) => text.length));
      expect(longest).toBeLessThan(1_048_576);
    } finally {
      parse.mockRestore();
    }
  });

  it('without end is no longer read', async () => {
    expect(await failureOf(embedderOf('openai'), 'flood')).toMatchObject({ code: 'malformed' });
    await expect.poll(() => server.open()).toBe(0);
    expect(server.sent()).toBeLessThan(64 * 1_048_576);
  });

  it('by silence is given up, and its connection is closed', async () => {
    const embedder = embeddersOf({ limits: { headersMs: 200 } }).of(row('openai'));
    expect(await failureOf(embedder, 'silence')).toMatchObject({ code: 'unavailable' });
    server.scripts.push('silence');
    const cancelled = embedderOf('openai').embedQuery('tides', AbortSignal.timeout(100));
    await expect(cancelled).rejects.toMatchObject({ name: 'TimeoutError' });
    await expect.poll(() => server.open()).toBe(0);
  });
});

describe('calls that wait for a vendor', () => {
  it('are few for each tenant; the next is refused soon, and other tenants are answered', async () => {
    const embedders = embeddersOf();
    server.scripts.push('silence', 'silence', 'silence');
    const stop = new AbortController();
    const embedder = embedders.of(row('openai', { tenantId: 'slow' }));
    const waiting = Array.from({ length: 3 }, () =>
      embedder.embedPassages(['tides'], stop.signal).catch(() => 'stopped'),
    );
    await expect.poll(() => server.requests.length).toBe(3);
    await expect(embedder.embedPassages(['tides'], never)).rejects.toMatchObject({
      code: 'busy',
      isRetryable: true,
    });
    const others = embedders.of(row('openai', { tenantId: 'other' }));
    expect((await others.embedPassages(['tides'], never)).vectors).toEqual([unit('tides')]);
    // Questions have a share of their own.
    expect((await embedder.embedQuery('tides', never)).vector).toEqual(unit('tides'));
    stop.abort();
    expect(await Promise.all(waiting)).toEqual(['stopped', 'stopped', 'stopped']);
    expect((await embedder.embedPassages(['tides'], never)).vectors).toEqual([unit('tides')]);
  });
});
