import { Context } from '@temporalio/activity';
import { Document } from '#domain/knowledge/collections/document.entity.ts';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import type { BulkTurns } from '#domain/foundation/kernel/bulk-turns.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { embedDocument as embed, type InTransaction } from '#domain/knowledge/embeddings/embed-document.ts';
import { EmbeddingFailure, type Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import type { FindLists } from '#domain/knowledge/embeddings/find-lists.ts';
import { markEmbedded } from '#domain/knowledge/embeddings/mark-embedded.ts';
import { ensureLive } from '#domain/knowledge/embeddings/start-generation.ts';
import type { EmbedDocumentResult, IngestDocumentInput } from '#workflows/ingest-document/messages.ts';
import { busyPauseMs } from '../busy-pause.ts';
import { retryLater } from '../failures.ts';
import { takeTurns } from './take-turns.ts';

export interface EmbeddingDependencies {
  unitOfWork: UnitOfWork;
  /** Omitted: nothing is embedded, and search is by keyword. */
  embedders?: Embedders;
  /** Omitted: vectors of large spaces are not divided into lists. */
  findLists?: FindLists;
  /** Of hundreds of passages whose vectors are known: they give way to responses; omitted: to nothing. */
  reuse?: Pick<BulkTurns, 'take'>;
}

/** An activity ends after this time, so that its progress is in the history and others get its slot. */
export const sliceMs = 30_000;

/** Interval of heartbeats, a third of the activities' timeout: each is a write of the Temporal server. */
export const embeddingBeatMs = 3_000;

/**
 * Gives the passages of a document vectors of each live generation of its space, for up to half a minute. Without a
 * model that answers, the document is left to the workflow of its space.
 */
export async function embedDocument(
  { unitOfWork, embedders, reuse }: EmbeddingDependencies,
  { tenantId, documentId }: IngestDocumentInput,
  signal: AbortSignal,
): Promise<EmbedDocumentResult> {
  const inTransaction: InTransaction = (work) => unitOfWork.inTenant(tenantId, work);
  const found = await inTransaction(async (em) => {
    const document = await em.findOne(Document, { id: documentId });
    const collection = document && (await em.findOne(Collection, { id: document.collectionId }));
    return document && collection && { document, spaceId: collection.spaceId };
  });
  if (found === null || embedders === undefined || found.document.chunkCount === 0) {
    return { state: 'done' };
  }
  const { document, spaceId } = found;
  const end = Date.now() + sliceMs;
  const onReused = reuse && takeTurns(reuse, tenantId, signal);
  const passages = { tenantId, documentId, generation: document.generation };
  try {
    for (const target of await ensureLive({ inTransaction, embedders, tenantId, spaceId, signal })) {
      if (target.generation.mean.length === 0) {
        // Its own workflow begins it.
        continue;
      }
      const embedder = embedders.of(target.model);
      const isOver = () => Date.now() > end;
      const work = { target, embedder, document: passages, signal, onReused, isOver };
      if (!(await embed(inTransaction, work))) {
        return { state: 'more' };
      }
      const embeddingId = target.generation.id;
      await inTransaction((em) => markEmbedded(em, { ...passages, embeddingId }));
    }
    return { state: 'done' };
  } catch (error) {
    if (!(error instanceof EmbeddingFailure)) {
      throw error;
    }
    if (error.code === 'busy') {
      // Frees its slot, so that a tenant with a slow vendor does not occupy all of the worker's.
      throw retryLater('embedder_busy', busyPauseMs(Context.current().info.attempt));
    }
    if (error.code === 'rate_limited') {
      throw retryLater('rate_limited', error.retryAfterMs ?? undefined);
    }
    return { state: 'unavailable' };
  }
}
