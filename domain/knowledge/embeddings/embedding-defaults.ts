import type { EmbeddingProvider } from './embedding-model.entity.ts';

export interface EmbeddingDefaults {
  dims: number;
  maxTokens: number;
}

/** Defaults of a provider's models, where a request leaves them out; null: it must say. */
export function embeddingDefaults(provider: EmbeddingProvider): EmbeddingDefaults | null {
  switch (provider) {
    case 'openai':
      return { dims: 1_536, maxTokens: 8_191 };
    case 'google':
      return { dims: 768, maxTokens: 2_048 };
    case 'openai_compatible':
    case 'builtin':
      return null;
  }
}
