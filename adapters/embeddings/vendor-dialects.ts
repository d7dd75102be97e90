import { z } from 'zod';
import type { EmbeddingModel } from '#domain/knowledge/embeddings/embedding-model.entity.ts';
import { vendorAddress } from '#domain/capabilities/models/vendor-address.ts';

export type EmbeddingPurpose = 'query' | 'passage';

/** How one provider kind asks for embeddings and answers. */
export interface EmbeddingDialect {
  /** Default address, used when the model's row has none. */
  baseUrl: string;
  /** Max texts of one request. */
  maxTexts: number;
  keyHeader(key: string): [name: string, value: string];
  request(
    model: EmbeddingModel,
    texts: readonly string[],
    purpose: EmbeddingPurpose,
  ): { path: string; body: unknown };
  /** @throws an error for an answer of another shape; `tokens` is null where the vendor counts none */
  read(answer: unknown): { vectors: readonly number[][]; tokens: number | null };
}

const vector = z.array(z.number());

const openAiAnswer = z.object({
  data: z.array(z.object({ index: z.number().int().optional(), embedding: vector })),
  usage: z.object({ prompt_tokens: z.number().int().nonnegative() }).nullish(),
});

const openAiWire: Omit<EmbeddingDialect, 'request' | 'baseUrl'> = {
  maxTexts: 128,
  keyHeader: (key) => ['authorization', `Bearer ${key}`],
  read: (answer) => {
    const { data, usage } = openAiAnswer.parse(answer);
    // Servers may answer in another order.
    const inOrder = data.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));
    return { vectors: inOrder.map(({ embedding }) => embedding), tokens: usage?.prompt_tokens ?? null };
  },
};

const openAiRequest = ({ providerModel }: EmbeddingModel, texts: readonly string[]) => ({
  model: providerModel,
  input: texts,
  encoding_format: 'float',
});

const openAi: EmbeddingDialect = {
  ...openAiWire,
  baseUrl: vendorAddress.openai,
  request: (model, texts) => ({
    path: '/embeddings',
    body: {
      ...openAiRequest(model, texts),
      // Its first model has fixed dimensions, and refuses the parameter.
      ...(model.providerModel.startsWith('text-embedding-ada') ? {} : { dimensions: model.dims }),
    },
  }),
};

/** Ollama, vLLM and others: most of their models have fixed dimensions, and some servers refuse the parameter. */
const openAiCompatible: EmbeddingDialect = {
  ...openAiWire,
  baseUrl: '',
  request: (model, texts) => ({ path: '/embeddings', body: openAiRequest(model, texts) }),
};

const googleAnswer = z.object({ embeddings: z.array(z.object({ values: vector })) });

const google: EmbeddingDialect = {
  baseUrl: vendorAddress.google,
  maxTexts: 100,
  keyHeader: (key) => ['x-goog-api-key', key],
  request: ({ providerModel, dims }, texts, purpose) => ({
    path: `/models/${encodeURIComponent(providerModel)}:batchEmbedContents`,
    body: {
      requests: texts.map((text) => ({
        model: `models/${providerModel}`,
        content: { parts: [{ text }] },
        taskType: purpose === 'query' ? 'RETRIEVAL_QUERY' : 'RETRIEVAL_DOCUMENT',
        outputDimensionality: dims,
      })),
    },
  }),
  read: (answer) => ({
    vectors: googleAnswer.parse(answer).embeddings.map(({ values }) => values),
    tokens: null,
  }),
};

export const embeddingDialects = { openai: openAi, google, openai_compatible: openAiCompatible };
