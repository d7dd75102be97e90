import { z } from 'zod';
import { documentMediaTypes } from '#domain/knowledge/collections/document-status.ts';
import { maxQuestionLength } from '#domain/knowledge/search/question.ts';
import { keywordReasons } from '#domain/knowledge/search/question-vector.ts';
import { rerankingReasons } from '#domain/knowledge/search/reranking-target.ts';
import { data, moment, range, uuid } from './common.ts';

/** Max collections that a request names. */
export const maxCollections = 50;
/** Max tokens of the prompt context where the request has no other limit. */
export const defaultMaxTokens = 2_000;
const defaultAlpha = 0.75;

const question = z.string().trim().min(1).max(maxQuestionLength);
const alpha = range(z.number(), 0, 1);

export const searchFilters = z.strictObject({
  metadata: z
    .record(z.string().min(1).max(64), z.string().max(512))
    .refine((entries) => Object.keys(entries).length <= 16, 'must have at most 16 entries')
    .optional()
    .meta({ description: 'Each of these is in the document’s metadata.' }),
  created_after: moment.optional().meta({ description: 'Documents uploaded at this time or later.' }),
  created_before: moment.optional().meta({ description: 'Documents uploaded before this time.' }),
});

export const searchBody = z.strictObject({
  query: question,
  collection_ids: z
    .array(uuid)
    .min(1)
    .max(maxCollections)
    .optional()
    .meta({ description: 'Every collection of the space when left out.' }),
  max_results: range(z.int(), 1, 50).default(8),
  alpha: alpha
    .default(defaultAlpha)
    .meta({ description: 'Weight of the search by meaning against the search by words.' }),
  rerank: z.boolean().optional().meta({
    description:
      'Whether the reranking model of the space orders the passages; as the space has chosen when left out.',
  }),
  filters: searchFilters.optional(),
  max_tokens: range(z.int(), 64, 32_000)
    .default(defaultMaxTokens)
    .meta({ description: 'Max tokens of context.text, estimated.' }),
});
export type SearchBody = z.infer<typeof searchBody>;

/** A decimal of a query, documented as a number: digits and a point, so that `NaN` and `1e1` are refused. */
const queryAlpha = z
  .string()
  .refine((text) => /^\d{1,3}(?:\.\d{1,20})?$/.test(text), 'must be a decimal number')
  .transform(Number)
  .pipe(alpha)
  .meta({ type: 'number', minimum: 0, maximum: 1, description: `${defaultAlpha} when left out.` });

/** Ids separated by commas; empty: no restriction. */
const idList = z
  .string()
  .max(maxCollections * 40)
  .transform((text) => text.split(',').map((id) => id.trim()))
  .transform((ids) => (ids.length === 1 && ids[0] === '' ? [] : ids))
  .pipe(z.array(uuid).max(maxCollections))
  .meta({
    type: 'string',
    description: 'Ids separated by commas; every collection that the caller may search when empty.',
  });

export const contextQuery = z.strictObject({
  question: question.optional(),
  collection_ids: idList.optional(),
  alpha: queryAlpha.optional(),
});
export const contextBody = z.strictObject({
  question: question.optional(),
  collection_ids: idList.optional(),
  alpha: alpha.optional(),
});
export const contextDefaults = { max_results: 8, alpha: defaultAlpha };

export const searchAnswer = z
  .strictObject({
    mode: z.enum(['keyword', 'hybrid']),
    reason: z
      .enum(keywordReasons)
      .nullable()
      .meta({ description: 'Why passages were not, or not everywhere, searched by meaning.' }),
    generation: uuid.nullable(),
    reranking: z.strictObject({
      model_id: uuid
        .nullable()
        .meta({ description: 'The model whose order this is; null: none, or several of several spaces.' }),
      reason: z
        .enum(rerankingReasons)
        .nullable()
        .meta({ description: 'Why passages are not, or not everywhere, in the order of a reranking model.' }),
    }),
    results: z.array(
      z.strictObject({
        document_id: uuid,
        filename: z.string(),
        collection_id: uuid,
        text: z.string(),
        heading: z.string().nullable(),
        page: z.int().nullable(),
        anchor: z.string().nullable(),
        start: z.int(),
        end: z.int(),
        score: z.number(),
        keyword_score: z.number(),
        vector_score: z.number().nullable(),
        rerank_score: z.number().nullable(),
        attributes: z.record(z.string(), z.string()),
      }),
    ),
    sources: z.array(
      z.strictObject({
        document_id: uuid,
        filename: z.string(),
        collection_id: uuid,
        media_type: z.enum(documentMediaTypes),
        passages: z.array(z.int()).meta({ description: 'Indexes into results.' }),
      }),
    ),
    context: z.strictObject({ text: z.string(), tokens: z.int(), truncated: z.boolean() }),
  })
  .meta({ id: 'KnowledgeSearch' });
export type SearchAnswer = z.infer<typeof searchAnswer>;

export const contextAnswer = searchAnswer
  .extend({
    spaces_left_out: z
      .int()
      .min(0)
      .meta({ description: 'Spaces that were not searched, since the time of the request was up.' }),
  })
  .meta({ id: 'KnowledgeContext' });

export const searchEnvelope = data(searchAnswer);
export const contextEnvelope = data(contextAnswer);
