import { EmbeddingFailure, type Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import { builtinEmbedder } from './builtin-embedder.ts';
import type { BuiltinModel } from './builtin-model.ts';
import { createInferenceThreads } from './inference-threads.ts';

export interface EmbedderOptions {
  builtin: BuiltinModel;
}

/** The embedders of a process, by the rows of models. */
export function createEmbedders({ builtin }: EmbedderOptions): Embedders {
  const infer = createInferenceThreads(builtin);
  return {
    of: (model) => {
      switch (model.providerKind) {
        case 'builtin':
          return builtinEmbedder(model, infer);
        case 'openai':
        case 'google':
        case 'openai_compatible':
          throw new EmbeddingFailure('refused');
      }
    },
  };
}
