import { calibrationTexts } from '#domain/knowledge/embeddings/calibration-texts.ts';
import { EmbeddingFailure, type Embedder } from '#domain/knowledge/embeddings/embedder.ts';
import type { EmbeddingModel } from '#domain/knowledge/embeddings/embedding-model.entity.ts';
import { builtinPackage } from './builtin-package.ts';
import type { Infer, Inferred } from './inference-pools.ts';
import { passagesAtOnce } from './vector-processes.ts';

/** Called for each passage before it is embedded. @throws the signal's reason */
export type TakeTurn = (tenantId: string, signal: AbortSignal) => Promise<void>;

/** The builtin model for one tenant. */
export function builtinEmbedder(
  { tenantId, providerModel, dims, queryPrefix, passagePrefix }: EmbeddingModel,
  infer: Record<'passage' | 'query', Infer>,
  takeTurn: TakeTurn = () => Promise.resolve(),
): Embedder {
  const isKnown = providerModel === builtinPackage.name && dims === builtinPackage.dims;
  const checked = () => {
    if (!isKnown) {
      throw new EmbeddingFailure('refused');
    }
  };
  return {
    id: `${builtinPackage.name}/${builtinPackage.files.weights.sha256.slice(0, 16)}`,
    dims: builtinPackage.dims,
    maxTokens: builtinPackage.maxTokens,
    // Several seconds, when other tenants take turns.
    passagesPerCall: 16,
    embedQuery: async (text, signal) => {
      checked();
      return infer.query(tenantId, queryPrefix + text, signal);
    },
    embedPassages: async (texts, signal) => {
      checked();
      // Once for a space, whose first document waits for it.
      const isCalibration = texts === calibrationTexts;
      const embedded: Inferred[] = [];
      const remaining = each(texts);
      const work = async () => {
        for (const [index, text] of remaining) {
          if (!isCalibration) await takeTurn(tenantId, signal);
          embedded[index] = await infer.passage(tenantId, passagePrefix + text, signal);
        }
      };
      await Promise.all(Array.from({ length: passagesAtOnce }, work));
      return {
        vectors: embedded.map(({ vector }) => vector),
        tokens: embedded.reduce((sum, { tokens }) => sum + tokens, 0),
      };
    },
  };
}

/** A generator: the loop that fails closes it for the others. */
function* each(texts: readonly string[]): Generator<[number, string]> {
  yield* texts.entries();
}
