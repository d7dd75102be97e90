import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import { withoutIndex } from '#domain/foundation/persistence/without-index.ts';
import type { Embedder } from './embedder.ts';
import { passagesToEmbed, type PassageToEmbed } from './passages-to-embed.ts';
import type { LiveGeneration } from './live-generations.ts';
import { bytesToFloats } from './quantise.ts';
import { recordUsage } from './record-usage.ts';
import { readLists } from './vector-lists.ts';
import { reuseVectors, storeVectors } from './vectors.ts';

/** Passages that are looked up at once while their texts turn out to be known: those need no call of the model. */
const maxSlice = 256;

/** Passages of one text. */
type Alike = [text: string, passages: PassageToEmbed[]];

/** Runs one transaction of the tenant. */
export type InTransaction = <T>(work: (em: EntityManager) => Promise<T>) => Promise<T>;

export interface DocumentEmbedding {
  target: LiveGeneration;
  embedder: Embedder;
  document: { tenantId: string; documentId: string; generation: number };
  signal: AbortSignal;
  /** Awaited, in no transaction, when so many passages have taken over vectors that were known. */
  onReused?: ((passages: number) => Promise<void>) | undefined;
  /** Whether time is up: asked after each batch. */
  isOver: () => boolean;
}

/**
 * Gives the passages of a document that lack one a vector of a generation, batch by batch: each text is embedded once.
 * No transaction is open while the model runs; each batch may be repeated.
 * @returns whether all passages have one. @throws `EmbeddingFailure`
 */
export async function embedDocument(inTransaction: InTransaction, work: DocumentEmbedding): Promise<boolean> {
  const { target, embedder, signal } = work;
  const passages = { ...work.document, embeddingId: target.generation.id };
  const mean = bytesToFloats(target.generation.mean);
  const lists =
    target.generation.listCount === 0
      ? null
      : await inTransaction((em) => readLists(em, { ...passages, mean }));
  let limit = embedder.passagesPerCall;
  for (let after = -1; ;) {
    const { slice, reused } = await inTransaction(async (em) => {
      const slice = await passagesToEmbed(em, passages, { after, limit });
      return { slice, reused: slice.length > 0 ? await reuseVectors(em, passages, slice) : new Set() };
    });
    const last = slice.at(-1);
    if (last === undefined) {
      return true;
    }
    signal.throwIfAborted();
    await work.onReused?.(reused.size);
    const lacking = slice.filter(({ position }) => !reused.has(position));
    const fresh: Alike[] = [...Map.groupBy(lacking, ({ text }) => text)];
    const batch = fresh.slice(0, embedder.passagesPerCall);
    if (batch.length > 0) {
      const { embedded, tokens } = await embedTexts(work, batch);
      await inTransaction(async (em) => {
        await storeVectors(em, { ...passages, mean, lists }, embedded);
        const { spaceId } = target.generation;
        const texts = batch.length;
        await recordUsage(em, { spaceId, model: target.model, purpose: 'passages', texts, tokens });
      });
    }
    // Passages before the first text that is left have their vectors.
    const left = fresh[batch.length]?.[1][0];
    if (left === undefined && slice.length < limit) {
      // The end of the embedding, which follows, counts them all.
      return true;
    }
    await inTransaction((em) => showProgress(em, passages, target));
    if (work.isOver()) {
      return false;
    }
    after = left === undefined ? last.position : left.position - 1;
    limit = batch.length === 0 ? Math.min(2 * limit, maxSlice) : embedder.passagesPerCall;
  }
}

/** Calls the model once. */
async function embedTexts({ embedder, signal }: DocumentEmbedding, batch: readonly Alike[]) {
  const { vectors, tokens } = await embedder.embedPassages(
    batch.map(([text]) => text),
    signal,
  );
  const embedded = batch.flatMap(([, alike], index) =>
    alike.map((passage) => ({ ...passage, vector: vectorAt(vectors, index) })),
  );
  return { embedded, tokens };
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
