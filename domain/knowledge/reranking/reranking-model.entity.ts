import { defineEntity } from '@mikro-orm/core';

export const rerankingProviders = [
  'cohere',
  'jina',
  'voyage',
  /** Servers with the interface of Cohere and Jina, such as vLLM, llama.cpp, Infinity and LiteLLM. */
  'rerank_compatible',
  /** Hugging Face's server, which has an interface of its own. */
  'text_embeddings_inference',
] as const;
export type RerankingProvider = (typeof rerankingProviders)[number];

/** What the scores of a model are: 0 to 1, -1 to 1, or the unlimited output of a classifier. */
export const scoreScales = ['probability', 'cosine', 'logit'] as const;
export type ScoreScale = (typeof scoreScales)[number];

const schema = defineEntity({
  name: 'RerankingModel',
  tableName: 'reranking_models',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    alias: p.text(),
    providerKind: p.text().$type<RerankingProvider>(),
    providerModel: p.text(),
    baseUrl: p.text().nullable(),
    credentialId: p.uuid().nullable(),
    /** Max tokens of a question and a passage together; what is longer is truncated. */
    maxTokens: p.integer(),
    scoreScale: p.text().$type<ScoreScale>(),
    microUsdPerMillion: p.bigint().defaultRaw('0'),
    /** Of vendors that bill searches instead of tokens. */
    microUsdPerThousandSearches: p.bigint().defaultRaw('0'),
    createdAt: p.datetime().defaultRaw('now()'),
    disabledAt: p.datetime().nullable(),
  }),
});

export class RerankingModel extends schema.class {}
schema.setClass(RerankingModel);
