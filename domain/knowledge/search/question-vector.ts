import type { EntityManager } from '@mikro-orm/postgresql';
import { EmbeddingFailure, type Embedder, type Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import type { InTransaction } from '#domain/knowledge/embeddings/embed-document.ts';
import { activeGeneration, type LiveGeneration } from '#domain/knowledge/embeddings/live-generations.ts';
import { bytesToFloats } from '#domain/knowledge/embeddings/quantise.ts';
import { recordUsage } from '#domain/knowledge/embeddings/record-usage.ts';
import type { Rerankers } from '#domain/knowledge/reranking/reranker.ts';

/** Why passages were not, or not everywhere, searched by their vectors. */
export const keywordReasons = [
  /** `alpha` is 0. */
  'alpha_is_zero',
  /** No document of the space was embedded yet; beside the mode `hybrid`, not all of the searched ones were. */
  'not_embedded',
  /** The model did not answer, or not in time. */
  'embedding_unavailable',
] as const;
export type KeywordReason = (typeof keywordReasons)[number];

export interface QuestionVector {
  /** The embedding generation that the vector can be compared with. */
  embeddingId: string;
  mean: Float32Array;
  /** Lists of the generation's vectors; 0: it has none. */
  listCount: number;
  /** Number of the graph that all of the generation's vectors are in; 0: there is none. */
  graph: number;
  vector: Float32Array;
}

/** A question is answered by keyword rather than late. */
const patienceMs = 4_000;

/** The vectors that a question is compared with. */
export interface QuestionTarget extends LiveGeneration {
  embedder: Embedder;
}

/** With which vectors of a space a question can be compared, or why with none. */
export async function questionTarget(
  em: EntityManager,
  { embedders }: QuestionAccess,
  { spaceId, alpha }: { spaceId: string; alpha: number },
): Promise<QuestionTarget | KeywordReason> {
  if (alpha === 0) {
    return 'alpha_is_zero';
  }
  const active = await activeGeneration(em, spaceId);
  if (active === null) {
    return 'not_embedded';
  }
  return embedders === undefined
    ? 'embedding_unavailable'
    : { ...active, embedder: embedders.of(active.model) };
}

/** Embeds a question. No transaction is open meanwhile. */
export async function questionVector(
  { inTransaction, signal }: QuestionAccess,
  { generation, model, embedder }: QuestionTarget,
  question: string,
): Promise<QuestionVector | KeywordReason> {
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
    const { vector, tokens } = await embedder.embedQuery(question, limited);
    if (model.providerKind !== 'builtin' && tokens > 0) {
      const { spaceId } = generation;
      await inTransaction((em) => recordUsage(em, { spaceId, model, purpose: 'query', texts: 1, tokens }));
    }
    return {
      embeddingId: generation.id,
      listCount: generation.listCount,
      graph: generation.graphedAt == null ? 0 : generation.graph,
      mean: bytesToFloats(generation.mean),
      vector,
    };
  } catch (error) {
    if (error instanceof EmbeddingFailure || isTimeout(error)) {
      return 'embedding_unavailable';
    }
    throw error;
  }
}

export interface QuestionAccess {
  /** Asks: documents that it may not read at their source are left out where a collection enforces that. */
  principalId: string;
  /** Runs one step in a transaction of the tenant. */
  inTransaction: InTransaction;
  /** Omitted: search is by keyword. */
  embedders?: Embedders | undefined;
  /** Omitted: no search is reranked. */
  rerankers?: Rerankers | undefined;
  signal: AbortSignal;
}

/** Whether a wait was limited by a timeout that is over. */
export const isTimeout = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError';
