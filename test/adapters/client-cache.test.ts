import { expect, it } from 'vitest';
import { AnswerShares, type AnswerShare } from '#adapters/egress/answer-shares.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { anthropic } from '#adapters/models/anthropic.ts';
import { cacheClients } from '#adapters/models/client-cache.ts';
import { google } from '#adapters/models/google.ts';
import { modelRouter } from '#adapters/models/model-router.ts';
import { openAi } from '#adapters/models/openai.ts';
import { openAiCompatible } from '#adapters/models/openai-compatible.ts';
import { modelRequest } from '../support/model-request.ts';
import { startWireFake } from '../support/wire-fakes/fake-server.ts';
import { fakeKinds } from '../support/wire-fakes/index.ts';

const at = (baseURL: string, apiKey = '', identity = '["tenant"]') => ({
  baseURL,
  apiKey,
  fetch: globalThis.fetch,
  identity,
});

function counted() {
  const made: string[] = [];
  const clientOf = cacheClients(({ baseURL, apiKey }, model) => {
    made.push(`${baseURL} ${apiKey} ${model}`);
    return { baseURL, apiKey, model };
  });
  return { made, clientOf };
}

it('a client is made once for each model, address and key, and never serves another', () => {
  const { made, clientOf } = counted();
  const first = clientOf(at('http://a', 'one'), 'm');
  expect(clientOf(at('http://a', 'one'), 'm')).toBe(first);
  expect(clientOf(at('http://a', 'two'), 'm')).toMatchObject({ apiKey: 'two' });
  expect(clientOf(at('http://b', 'one'), 'm')).toMatchObject({ baseURL: 'http://b' });
  expect(clientOf(at('http://a', 'one'), 'n')).toMatchObject({ model: 'n' });
  expect(made).toEqual(['http://a one m', 'http://a two m', 'http://b one m', 'http://a one n']);
  expect(clientOf(at('http://a', 'one', '["other tenant"]'), 'm')).not.toBe(first);
});

it('the client that was used longest ago goes first', () => {
  const { made, clientOf } = counted();
  const kept = clientOf(at('http://a'), 'kept');
  for (let i = 0; i < 199; i += 1) {
    clientOf(at('http://a'), `other-${i}`);
  }
  expect(clientOf(at('http://a'), 'kept')).toBe(kept);
  clientOf(at('http://a'), 'one more');
  expect(clientOf(at('http://a'), 'kept')).toBe(kept);
  expect(made).toHaveLength(201);
  clientOf(at('http://a'), 'other-0');
  expect(made).toHaveLength(202);
});

class NotedShares extends AnswerShares {
  readonly readers = new Set<string>();

  override of(tenantId: string): AnswerShare {
    const share = super.of(tenantId);
    return {
      ...share,
      read: (bytes, signal) => {
        this.readers.add(tenantId);
        return share.read(bytes, signal);
      },
    };
  }
}

it.each(fakeKinds)(
  'answers of one model of $kind are read from the share of the tenant that asked',
  async (of) => {
    const fake = await startWireFake(of.vendor(), { text: 'The tide turns.' });
    try {
      const shares = new NotedShares();
      const vendor = {
        fetch: createGuardedFetch([fake.origin]),
        credential: () => 'key-of-all-tenants',
        shares,
      };
      const models = modelRouter({
        openai: openAi(vendor),
        anthropic: anthropic(vendor),
        google: google(vendor),
        openai_compatible: openAiCompatible(vendor),
      });
      const model = {
        providerKind: of.kind,
        providerModel: of.providerModel,
        baseUrl: `${fake.origin}${of.path}`,
        credentialRef: 'KEY',
      };
      for (const tenantId of ['one', 'two']) {
        shares.readers.clear();
        const parts = models.stream(modelRequest(model, { tenantId }), new AbortController().signal);
        for await (const part of parts) {
          expect(part).toBeDefined();
        }
        expect([...shares.readers]).toEqual([tenantId]);
      }
    } finally {
      await fake.stop();
    }
  },
);
