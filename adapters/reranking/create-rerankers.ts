import type { Rerankers } from '#domain/knowledge/reranking/reranker.ts';
import { VendorPauses } from '../embeddings/vendor-pauses.ts';
import { VendorShares } from '../embeddings/vendor-shares.ts';
import type { VendorOptions } from '../models/vendor-gateway.ts';
import { vendorReranker } from './vendor-reranker.ts';

/** The rerankers of a process, by the rows of models. */
export function createRerankers(options: VendorOptions): Rerankers {
  const pauses = new VendorPauses();
  const shares = new VendorShares();
  return { of: (model) => vendorReranker({ model, options, pauses, shares }) };
}
