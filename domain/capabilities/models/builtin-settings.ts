import type { NewModel } from './add-model.ts';

/** The extractive model that needs no network: deterministic, so an interrupted answer is replayed. */
export const builtinSettings: NewModel = {
  alias: 'builtin',
  providerKind: 'builtin',
  providerModel: 'builtin-extractive-1',
  baseUrl: null,
  credentialRef: null,
  continuation: 'replay',
  supportsReasoning: false,
  contextWindow: 200_000,
  maxOutputTokens: 4_096,
  price: { inputMicroUsdPerMillion: 0n, cachedInputMicroUsdPerMillion: 0n, outputMicroUsdPerMillion: 0n },
};
