import type { Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import type { VendorOptions } from '../models/vendor-gateway.ts';
import { builtinEmbedder } from './builtin-embedder.ts';
import type { BuiltinModel } from './builtin-model.ts';
import { createInference } from './inference-pools.ts';
import { embeddingDialects } from './vendor-dialects.ts';
import { vendorEmbedder } from './vendor-embedder.ts';
import { VendorPauses } from './vendor-pauses.ts';
import { VendorShares } from './vendor-shares.ts';

export interface EmbedderOptions extends VendorOptions {
  builtin: BuiltinModel;
}

/** The embedders of a process, by the rows of models. */
export function createEmbedders({ builtin, ...options }: EmbedderOptions): Embedders {
  const infer = createInference(builtin);
  const pauses = new VendorPauses();
  const shares = new VendorShares();
  return {
    of: (model) =>
      model.providerKind === 'builtin'
        ? builtinEmbedder(model, infer)
        : vendorEmbedder({ model, dialect: embeddingDialects[model.providerKind], options, pauses, shares }),
  };
}
