import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import { withoutIndex } from '#domain/foundation/persistence/without-index.ts';
import type { Embedder } from './embedder.ts';
import { passagesToEmbed } from './passages-to-embed.ts';
import type { LiveGeneration } from './live-generations.ts';
import { bytesToFloats } from './quantise.ts';
import { recordUsage } from './record-usage.ts';
import { readLists } from './vector-lists.ts';
import { reuseVectors, storeVectors } from './vectors.ts';

/** Runs one transaction of the tenant. */
export type InTransaction = <T>(work: (em: EntityManager) => Promise<T>) => Promise<T>;

export interface DocumentEmbedding {
  target: LiveGeneration;
  embedder: Embedder;
  document: { tenantId: string; documentId: string; generation: number };
  signal: AbortSignal;
  /** Whether time is up: asked after each batch. */
  isOver: () => boolean;
}

/**
 * Gives the passages of a document that lack one a vector of a generation, batch by batch. No transaction is open
 * while the model runs; each batch may be repeated.
 * @returns whether all passages have one. @throws `EmbeddingFailure`
 */
export async function embedDocument(inTransaction: InTransaction, work: DocumentEmbedding): Promise<boolean> {
  const { target, embedder, signal } = work;
  const { id: embeddingId, spaceId } = target.generation;
  const passages = { ...work.document, embeddingId };
  const mean = bytesToFloats(target.generation.mean);
  const lists =
    target.generation.listCount === 0
      ? null
      : await inTransaction((em) => readLists(em, { ...passages, mean }));
  for (let after = -1; ;) {
    const behind = { after, limit: embedder.passagesPerCall };
    const { batch, reused } = await inTransaction(async (em) => {
      const batch = await passagesToEmbed(em, passages, behind);
      return { batch, reused: batch.length > 0 ? await reuseVectors(em, passages, batch) : new Set() };
    });
    const last = batch.at(-1);
    if (last === undefined) {
      return true;
    }
    const isEnd = batch.length < behind.limit;
    signal.throwIfAborted();
    const fresh = batch.filter(({ position }) => !reused.has(position));
    if (fresh.length > 0) {
      const { vectors, tokens } = await embedder.embedPassages(
        fresh.map(({ text }) => text),
        signal,
      );
      const embedded = fresh.map((passage, index) => ({ ...passage, vector: vectorAt(vectors, index) }));
      await inTransaction(async (em) => {
        await storeVectors(em, { ...passages, mean, lists }, embedded);
        const texts = embedded.length;
        await recordUsage(em, { spaceId, model: target.model, purpose: 'passages', texts, tokens });
      });
    }
    if (isEnd) {
      // The end of the embedding, which follows, counts them all.
      return true;
    }
    await inTransaction((em) => showProgress(em, passages, target));
    after = last.position;
    if (work.isOver()) {
      return false;
    }
  }
}

/**
 * Counted, not added up: a batch may have been repeated. Another generation may have become the active one meanwhile,
 * whose vectors the document's count is of from then on.
 */
async function showProgress(
  em: EntityManager,
  { tenantId, documentId, generation, embeddingId }: DocumentEmbedding['document'] & { embeddingId: string },
  target: LiveGeneration,
): Promise<void> {
  if (target.generation.state === 'active') {
    await em.execute(
      `with active as materialized (
         select from embedding_generations where tenant_id = ? and id = ? and state = 'active' for share)
       update documents set embedded_count = (
         select count(*) from chunk_embeddings
         where tenant_id = ${averageUuid} and ${withoutIndex('embedding_id')} and document_id = ${averageUuid} and generation = ?)
       where tenant_id = ? and id = ? and generation = ? and exists (select from active)`,
      [
        tenantId,
        embeddingId,
        tenantId,
        embeddingId,
        documentId,
        generation,
        tenantId,
        documentId,
        generation,
      ],
    );
  }
}

function vectorAt(vectors: readonly Float32Array[], index: number): Float32Array {
  const vector = vectors[index];
  if (vector === undefined) {
    throw new Error('The embedder answered with fewer vectors than it was given passages.');
  }
  return vector;
}
