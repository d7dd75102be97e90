import type { Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import type { VendorOptions } from '../models/vendor-gateway.ts';
import { builtinEmbedder, type TakeTurn } from './builtin-embedder.ts';
import type { BuiltinModel } from './builtin-model.ts';
import { createInference } from './inference-pools.ts';
import { embeddingDialects } from './vendor-dialects.ts';
import { vendorEmbedder } from './vendor-embedder.ts';
import { VendorPauses } from './vendor-pauses.ts';
import { VendorShares } from './vendor-shares.ts';
import { createVectorProcesses, type VectorProcesses } from './vector-processes.ts';

export interface EmbedderOptions extends VendorOptions {
  builtin: BuiltinModel;
  /** The processes that embed passages. Omitted: processes that only these embedders use. */
  processes?: VectorProcesses;
  /** Omitted: passages that the builtin model embeds give way to nothing. */
  takeTurn?: TakeTurn;
}

/** The embedders of a process, by the rows of models. */
export function createEmbedders({
  builtin,
  processes = createVectorProcesses(),
  takeTurn,
  ...options
}: EmbedderOptions): Embedders {
  const infer = createInference(builtin, processes);
  const pauses = new VendorPauses();
  const shares = new VendorShares();
  return {
    of: (model) =>
      model.providerKind === 'builtin'
        ? builtinEmbedder(model, infer, takeTurn)
        : vendorEmbedder({ model, dialect: embeddingDialects[model.providerKind], options, pauses, shares }),
  };
}
