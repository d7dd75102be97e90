import type { RerankingProvider, ScoreScale } from './reranking-model.entity.ts';

export interface RerankingDefaults {
  /** null: a model's row must have its address. */
  baseUrl: string | null;
  maxTokens: number;
  scoreScale: ScoreScale;
}

/** Defaults of a provider's models, where a request leaves them out. */
export function rerankingDefaults(provider: RerankingProvider, model: string): RerankingDefaults {
  switch (provider) {
    case 'cohere':
      return { baseUrl: 'https://api.cohere.com/v2', maxTokens: 4_096, scoreScale: 'probability' };
    case 'jina':
      return {
        baseUrl: 'https://api.jina.ai/v1',
        maxTokens: 1_024,
        // Its third generation compares vectors.
        scoreScale: model.startsWith('jina-reranker-v3') ? 'cosine' : 'probability',
      };
    case 'voyage':
      return { baseUrl: 'https://api.voyageai.com/v1', maxTokens: 4_000, scoreScale: 'probability' };
    case 'rerank_compatible':
    case 'text_embeddings_inference':
      return { baseUrl: null, maxTokens: 512, scoreScale: 'probability' };
  }
}
