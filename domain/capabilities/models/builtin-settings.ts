import type { NewModel } from './add-model.ts';

/** The extractive answerer that needs no network: deterministic, so a cut answer is played again. */
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
