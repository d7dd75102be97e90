import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { openAiCompatible } from '#adapters/models/openai-compatible.ts';
import type { ModelPart } from '#domain/capabilities/models/model-gateway.ts';
import { modelRequest } from '../support/model-request.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';

const text = 'The tide turns twice a day, as the harbour master knows. ';
const strangeUsage = [
  { prompt_tokens: 1.5, completion_tokens: 2 },
  { prompt_tokens: 3, completion_tokens: -7 },
  { prompt_tokens: 3, completion_tokens: 1e30 },
];
let server: ModelServer;

beforeAll(async () => {
  server = await startModelServer([
    { name: 'drops', text, fail: [{ dropAfterChars: 20 }] },
    { name: 'errs', text, fail: [{ errorAfterChars: 20 }] },
    { name: 'refuses', text, fail: [{ status: 400 }] },
    ...strangeUsage.map((usage, i) => ({ name: `counts-${i}`, text, usage })),
  ]);
});
afterAll(() => server?.stop());

const requestOf = (name: string) =>
  modelRequest({ providerKind: 'openai_compatible', providerModel: name, baseUrl: server.url });

describe('a stream that breaks', () => {
  it.each([
    ['drops', true],
    ['errs', true],
    ['refuses', false],
  ])('(%s) may be tried again: %s', async (name, retryable) => {
    const fetch = createGuardedFetch([new URL(server.url).origin]);
    const models = openAiCompatible({ fetch, credential: () => undefined });
    const parts: ModelPart[] = [];
    const read = async () => {
      for await (const part of models.stream(requestOf(name), new AbortController().signal)) {
        parts.push(part);
      }
    };
    await expect(read()).rejects.toMatchObject({ name: 'ModelFailure', code: 'model_error', retryable });
    expect(parts.some((part) => part.type === 'text')).toBe(retryable);
  });
});

it.each(strangeUsage.map((_, i) => i))('a usage that is no valid count is estimated (%i)', async (i) => {
  const fetch = createGuardedFetch([new URL(server.url).origin]);
  const models = openAiCompatible({ fetch, credential: () => undefined });
  const parts: ModelPart[] = [];
  for await (const part of models.stream(requestOf(`counts-${i}`), new AbortController().signal)) {
    parts.push(part);
  }
  expect(parts.at(-1)).toEqual({ type: 'finish', reason: 'stop', usage: null });
});
