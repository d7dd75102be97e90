import { expect, it } from 'vitest';
import { cacheClients } from '#adapters/models/client-cache.ts';

const at = (baseURL: string, apiKey = '') => ({ baseURL, apiKey, fetch: globalThis.fetch });

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
