import type { Embedder, Embedders } from '#domain/knowledge/embeddings/embedder.ts';

type Embedded = Awaited<ReturnType<Embedder['embedQuery']>>;

/**
 * Embedders for one search of several spaces: each model embeds a question once. Only its first answer counts tokens,
 * so that usage is recorded once.
 */
export function embedOnce(embedders: Embedders): Embedders {
  const known = new Map<string, Promise<Embedded>>();
  return {
    of: (model) => {
      const embedder = embedders.of(model);
      return {
        id: embedder.id,
        dims: embedder.dims,
        maxTokens: embedder.maxTokens,
        passagesPerCall: embedder.passagesPerCall,
        embedPassages: (texts, signal) => embedder.embedPassages(texts, signal),
        embedQuery: async (text, signal) => {
          const key = `${model.id} ${text}`;
          const first = known.get(key);
          if (first !== undefined) {
            return { ...(await first), tokens: 0 };
          }
          const embedded = embedder.embedQuery(text, signal);
          known.set(key, embedded);
          return embedded;
        },
      };
    },
  };
}
