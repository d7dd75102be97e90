import type { FindLists } from '#domain/knowledge/embeddings/find-lists.ts';
import { dequantise } from '#domain/knowledge/embeddings/quantise.ts';

/** In the event loop: for few vectors. */
export const findListsHere: FindLists = async ({ vectors, mean, lists }, signal) => {
  signal.throwIfAborted();
  return vectors.map((vector) => lists.listOf(dequantise(vector, mean)));
};
