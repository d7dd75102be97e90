import { z } from 'zod';
import { rerankingProviders, scoreScales } from '#domain/knowledge/reranking/reranking-model.entity.ts';
import { data, day, page, timestamp, uuid } from './common.ts';

const decimal = z.string().max(20);
const price = decimal.meta({
  description: 'Dollars per million tokens, as a decimal such as "0.02"; at most six fraction digits.',
});
const searchPrice = decimal.meta({
  description: 'Dollars per thousand searches, of vendors that bill those; as a decimal such as "2".',
});
const maxTokens = z
  .int()
  .min(64)
  .max(1_000_000)
  .meta({ description: 'Of a question and a passage together; what is longer is truncated.' });
const scoreScale = z.enum(scoreScales).meta({
  description:
    'What the model’s scores are: `probability` from 0 to 1, `cosine` from -1 to 1, or `logit` without limits.',
});
const baseUrl = z.string().max(2_000).nullable();
const credentialId = uuid.nullable().meta({ description: 'A stored credential of the tenant.' });

export const addRerankingModelBody = z.strictObject({
  alias: z.string().min(1).max(128),
  provider_kind: z.enum(rerankingProviders),
  provider_model: z.string().min(1).max(200),
  base_url: baseUrl
    .optional()
    .meta({ description: 'The address above `/rerank`. Omitted: the vendor’s own, if it has one.' }),
  credential_id: credentialId.optional(),
  max_tokens: maxTokens.optional(),
  score_scale: scoreScale.optional(),
  price: price.optional(),
  search_price: searchPrice.optional(),
});
export const updateRerankingModelBody = z.strictObject({
  base_url: baseUrl.optional(),
  credential_id: credentialId.optional(),
  max_tokens: maxTokens.optional(),
  score_scale: scoreScale.optional(),
  price: price.optional(),
  search_price: searchPrice.optional(),
  disabled: z
    .boolean()
    .optional()
    .meta({ description: 'true: no search uses it any more, and no space may choose it.' }),
});
export const rerankingModelParams = z.strictObject({ reranking_model_id: uuid });

export const rerankingModelRecord = z
  .strictObject({
    id: uuid,
    alias: z.string(),
    provider_kind: z.enum(rerankingProviders),
    provider_model: z.string(),
    base_url: z.string().nullable(),
    credential_id: uuid.nullable(),
    max_tokens: z.int(),
    score_scale: z.enum(scoreScales),
    price_usd_per_million: z.string(),
    price_usd_per_thousand_searches: z.string(),
    created_at: timestamp,
    disabled_at: timestamp.nullable(),
  })
  .meta({ id: 'RerankingModel' });
export const rerankingModelEnvelope = data(rerankingModelRecord);
export const rerankingModelPage = page(rerankingModelRecord);

export const spaceRerankingRecord = z
  .strictObject({
    model: z
      .strictObject({ id: uuid, alias: z.string(), disabled_at: timestamp.nullable() })
      .nullable()
      .meta({ description: 'null: searches are not reranked.' }),
    by_default: z.boolean().meta({ description: 'Whether searches that do not ask for it are reranked.' }),
    chosen_at: timestamp.nullable(),
  })
  .meta({ id: 'SpaceReranking' });
export const spaceRerankingEnvelope = data(spaceRerankingRecord);
export const changeSpaceRerankingBody = z.strictObject({
  model_id: uuid.nullable().meta({ description: 'null: searches are no longer reranked.' }),
  by_default: z.boolean().optional().meta({ description: 'true when left out.' }),
});

export const rerankingUsageRecord = z
  .strictObject({
    day,
    model: z.strictObject({ id: uuid, alias: z.string() }),
    searches: z.int().meta({ description: 'As the vendor bills them; requests where it bills none.' }),
    passages: z.int(),
    tokens: z.int(),
    cost_usd: z.string().nullable().meta({ description: 'null: the model has no price.' }),
  })
  .meta({ id: 'RerankingUsage' });
export const rerankingUsagePage = page(rerankingUsageRecord);
