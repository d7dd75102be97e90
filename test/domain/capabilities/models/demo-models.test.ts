import { describe, expect, it } from 'vitest';
import { toPriceUsd } from '#domain/capabilities/models/pricing.ts';
import { findModels } from '../../../../bin/platform/demo-models.ts';

describe('the models of a first run', () => {
  it("a vendor's key that is found adds a model of the vendor's own kind, the last one being the default", async () => {
    const found = await findModels({
      OPENAI_API_KEY: 'a',
      ANTHROPIC_API_KEY: 'b',
      GOOGLE_GENERATIVE_AI_API_KEY: 'c',
    });
    expect(
      found.map(({ alias, providerKind, credentialRef }) => [alias, providerKind, credentialRef]),
    ).toEqual([
      ['builtin', 'builtin', null],
      ['openai', 'openai', 'OPENAI_API_KEY'],
      ['anthropic', 'anthropic', 'ANTHROPIC_API_KEY'],
      ['google', 'google', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    ]);
    expect(toPriceUsd(found[1]!.price)).toEqual({
      input: '0.250000',
      cachedInput: '0.025000',
      output: '2.000000',
    });
    expect(
      found.slice(1).every((model) => model.supportsReasoning && model.continuation === 'instruct'),
    ).toBe(true);
  });

  it('without a key there is the builtin one alone', async () => {
    expect((await findModels({})).map(({ alias }) => alias)).toEqual(['builtin']);
  });
});
