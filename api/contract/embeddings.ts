import { z } from 'zod';
import {
  embeddingProviders,
  type EmbeddingProvider,
} from '#domain/knowledge/embeddings/embedding-model.entity.ts';
import { data, day, page, pageQuery, queryInteger, timestamp, uuid } from './common.ts';

const price = z.string().max(20).meta({
  description: 'Dollars per million tokens, as a decimal such as "0.02"; at most six fraction digits.',
});
const prefix = z.string().max(500);
const dims = z.int().min(8).max(4_096);
const maxTokens = z.int().min(16).max(1_000_000);
const baseUrl = z.string().max(2_000).nullable();
const credentialId = uuid.nullable().meta({ description: 'A stored credential of the tenant.' });

const remoteProviders = embeddingProviders.filter(
  (provider): provider is Exclude<EmbeddingProvider, 'builtin'> => provider !== 'builtin',
);

export const addEmbeddingModelBody = z.strictObject({
  alias: z.string().min(1).max(128),
  provider_kind: z.enum(remoteProviders),
  provider_model: z.string().min(1).max(200),
  base_url: baseUrl.optional(),
  credential_id: credentialId.optional(),
  dims: dims
    .optional()
    .meta({ description: 'Length of its vectors. Omitted: the provider’s default, if any.' }),
  max_tokens: maxTokens.optional().meta({ description: 'Longer texts are truncated.' }),
  query_prefix: prefix.optional().meta({ description: 'Put before each question.' }),
  passage_prefix: prefix.optional().meta({ description: 'Put before each passage.' }),
  price: price.optional(),
});
export const updateEmbeddingModelBody = z.strictObject({
  base_url: baseUrl.optional(),
  credential_id: credentialId.optional(),
  max_tokens: maxTokens.optional(),
  price: price.optional(),
  disabled: z.boolean().optional().meta({ description: 'true: no space may choose it any more.' }),
});
export const embeddingModelParams = z.strictObject({ embedding_model_id: uuid });

export const embeddingModelRecord = z
  .strictObject({
    id: uuid,
    alias: z.string(),
    provider_kind: z.enum(embeddingProviders),
    provider_model: z.string(),
    base_url: z.string().nullable(),
    credential_id: uuid.nullable(),
    dims: z.int(),
    max_tokens: z.int(),
    pooling: z.enum(['cls', 'mean']).nullable(),
    query_prefix: z.string(),
    passage_prefix: z.string(),
    price_usd_per_million: z.string(),
    created_at: timestamp,
    disabled_at: timestamp.nullable(),
  })
  .meta({ id: 'EmbeddingModel' });
export const embeddingModelEnvelope = data(embeddingModelRecord);
export const embeddingModelPage = page(embeddingModelRecord);

const chosenModel = z.strictObject({ id: uuid, alias: z.string(), dims: z.int() });

export const spaceEmbeddingRecord = z
  .strictObject({
    model: chosenModel.nullable().meta({ description: 'null before the first document was embedded.' }),
    generation: uuid.nullable(),
    active_since: timestamp.nullable(),
    pending_documents: z.int().meta({ description: 'Found by keyword only so far.' }),
    last_error: z.string().nullable(),
    change: z
      .strictObject({
        model: chosenModel,
        generation: uuid,
        documents_done: z.int(),
        documents_total: z.int(),
        started_at: timestamp,
        last_error: z.string().nullable(),
      })
      .nullable()
      .meta({ description: 'The model that replaces this one once all documents are embedded.' }),
  })
  .meta({ id: 'SpaceEmbedding' });
export const spaceEmbeddingEnvelope = data(spaceEmbeddingRecord);
export const changeSpaceEmbeddingBody = z.strictObject({ model_id: uuid });

const maxDays = 31;
const defaultDays = 30;
export const usageDays = z.int().min(1).max(maxDays).default(defaultDays);
export const embeddingUsageQuery = z.strictObject({
  days: queryInteger(1, maxDays)
    .default(defaultDays)
    .meta({
      type: 'integer',
      minimum: 1,
      maximum: maxDays,
      description: `Days up to today, at UTC; ${defaultDays} when left out.`,
    }),
  ...pageQuery,
});
export const embeddingUsageRecord = z
  .strictObject({
    day,
    model: z.strictObject({ id: uuid, alias: z.string() }),
    texts: z.int().meta({ description: 'Passages, questions, and texts that calibrate a model.' }),
    tokens: z.int(),
    cost_usd: z.string().nullable().meta({ description: 'null: the model has no price.' }),
  })
  .meta({ id: 'EmbeddingUsage' });
export const embeddingUsagePage = page(embeddingUsageRecord);
