import { z } from 'zod';
import { maxPassages } from '#domain/knowledge/reranking/reranker.ts';
import type {
  RerankingModel,
  RerankingProvider,
} from '#domain/knowledge/reranking/reranking-model.entity.ts';

export interface RerankAnswer {
  results: readonly { index: number; score: number }[];
  /** null: the server counts none. */
  tokens: number | null;
  searches: number | null;
}

/** How one provider kind takes passages and answers. All are asked at `/rerank` below their address. */
export interface RerankDialect {
  /** Max passages of one request. */
  maxTexts: number;
  body(model: RerankingModel, question: string, passages: readonly string[]): unknown;
  /** @throws an error for an answer of another shape */
  read(answer: unknown): RerankAnswer;
}

const index = z.int().nonnegative();
const count = z.int().nonnegative();
const scored = z.array(z.object({ index, relevance_score: z.number() })).max(maxPassages);
const ofScored = (results: z.infer<typeof scored>) =>
  results.map(({ index: at, relevance_score: score }) => ({ index: at, score }));
const usage = z.object({ total_tokens: count.nullish(), prompt_tokens: count.nullish() });

const resultsAnswer = z.object({
  results: scored,
  usage: usage.nullish(),
  meta: z
    .object({
      billed_units: z.object({ search_units: count.nullish(), total_tokens: count.nullish() }).nullish(),
      tokens: z.object({ input_tokens: count.nullish() }).nullish(),
    })
    .nullish(),
});

/** Servers tell their usage in several places, if at all. */
function readResults(answer: unknown): RerankAnswer {
  const { results, usage: used, meta } = resultsAnswer.parse(answer);
  return {
    results: ofScored(results),
    tokens:
      used?.total_tokens ??
      used?.prompt_tokens ??
      meta?.tokens?.input_tokens ??
      meta?.billed_units?.total_tokens ??
      null,
    searches: meta?.billed_units?.search_units ?? null,
  };
}

const plainBody = (model: RerankingModel, query: string, documents: readonly string[]) => ({
  model: model.providerModel,
  query,
  documents,
  top_n: documents.length,
});

/** A document that is too long would be billed as several, and is truncated instead. */
const cohere: RerankDialect = {
  maxTexts: maxPassages,
  body: (model, query, documents) => ({
    ...plainBody(model, query, documents),
    max_tokens_per_doc: model.maxTokens,
  }),
  read: readResults,
};

const jina: RerankDialect = {
  maxTexts: maxPassages,
  body: (model, query, documents) => ({ ...plainBody(model, query, documents), return_documents: false }),
  read: readResults,
};

/** Its answers are called as those of embeddings are. */
const voyageAnswer = z.object({ data: scored, usage: usage.nullish() });

const voyage: RerankDialect = {
  maxTexts: maxPassages,
  body: (model, query, documents) => ({
    model: model.providerModel,
    query,
    documents,
    top_k: documents.length,
    return_documents: false,
    truncation: true,
  }),
  read: (answer) => {
    const { data, usage: used } = voyageAnswer.parse(answer);
    return { results: ofScored(data), tokens: used?.total_tokens ?? null, searches: null };
  },
};

/** Only what all of them know: some refuse other members. */
const compatible: RerankDialect = { maxTexts: maxPassages, body: plainBody, read: readResults };

/** The server's own limit, where it is started without another. */
const textEmbeddingsMax = 32;
const textEmbeddingsAnswer = z.array(z.object({ index, score: z.number() })).max(textEmbeddingsMax);

const textEmbeddings: RerankDialect = {
  maxTexts: textEmbeddingsMax,
  body: ({ scoreScale }, query, texts) => ({
    query,
    texts,
    raw_scores: scoreScale === 'logit',
    truncate: true,
  }),
  read: (answer) => ({ results: textEmbeddingsAnswer.parse(answer), tokens: null, searches: null }),
};

export const rerankDialects: Record<RerankingProvider, RerankDialect> = {
  cohere,
  jina,
  voyage,
  rerank_compatible: compatible,
  text_embeddings_inference: textEmbeddings,
};
