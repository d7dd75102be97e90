import { defineEntity } from '@mikro-orm/core';

export const embeddingProviders = ['builtin', 'openai', 'google', 'openai_compatible'] as const;
export type EmbeddingProvider = (typeof embeddingProviders)[number];

const schema = defineEntity({
  name: 'EmbeddingModel',
  tableName: 'embedding_models',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    alias: p.text(),
    providerKind: p.text().$type<EmbeddingProvider>(),
    providerModel: p.text(),
    baseUrl: p.text().nullable(),
    credentialId: p.uuid().nullable(),
    dims: p.integer(),
    /** Max tokens of one text; longer ones are truncated. */
    maxTokens: p.integer(),
    /** How vectors of tokens become one; null: the provider decides. */
    pooling: p.text().$type<'cls' | 'mean'>().nullable(),
    queryPrefix: p.text().default(''),
    passagePrefix: p.text().default(''),
    microUsdPerMillion: p.bigint().defaultRaw('0'),
    createdAt: p.datetime().defaultRaw('now()'),
    disabledAt: p.datetime().nullable(),
  }),
});

export class EmbeddingModel extends schema.class {}
schema.setClass(EmbeddingModel);
