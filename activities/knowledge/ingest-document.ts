import { Context } from '@temporalio/activity';
import { BytesNotFound } from '#domain/foundation/bytes/byte-store.ts';
import { readAll } from '#domain/foundation/bytes/parts.ts';
import { PostgresByteStore } from '#domain/foundation/bytes/postgres-byte-store.ts';
import { Document } from '#domain/knowledge/collections/document.entity.ts';
import {
  ExtractionFailure,
  ExtractorBusy,
  type Chunk,
  type DocumentExtractor,
  type DocumentContent,
  type ExtractionFault,
} from '#domain/knowledge/ingestion/document-extractor.ts';
import { noEmbedding, type Embedding } from '#domain/knowledge/ingestion/embedder.ts';
import { finishIngestion, ingestionState } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { storePassages, type StoredPassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { withStatementTimeout } from '#domain/foundation/persistence/statement-timeout.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { IngestDocumentInput, IngestDocumentResult } from '#workflows/ingest-document/messages.ts';
import { retryLater } from '../failures.ts';
import { embedPassages } from './embed-passages.ts';

export interface DocumentDependencies {
  unitOfWork: UnitOfWork;
  extractor: DocumentExtractor;
  /** Omitted: no embedding. */
  embedding?: Embedding;
}

type Outcome = { chunks: Chunk[] } | { failure: ExtractionFault };

/** Max extractions of one document that end with a crash of their worker. */
const maxLostExtractions = 3;
const heartbeatMs = 2_000;
const maxBusyPauseMs = 120_000;
/** All passages of a large document are inserted at once. */
const insertTimeoutMs = 30_000;

/** Extracts a document, cuts it, stores its passages and embeds them. Idempotent, also when run concurrently. */
export async function ingestDocument(
  deps: DocumentDependencies,
  input: IngestDocumentInput,
): Promise<IngestDocumentResult> {
  const { unitOfWork } = deps;
  const state = await unitOfWork.inTenant(input.tenantId, async (em) => {
    const document = await em.findOne(Document, { id: input.documentId });
    return ingestionState(document);
  });
  if (state.status !== 'processing') {
    return state;
  }
  const outcome = await extract(deps, input);
  const stored = 'failure' in outcome ? outcome : await store(deps, input, outcome.chunks);
  return unitOfWork.inTenant(input.tenantId, async (em) =>
    stored === null
      ? ingestionState(await em.findOne(Document, { id: input.documentId }))
      : finishIngestion(em, input.documentId, stored),
  );
}

/** @returns null when the document is no longer being read */
async function store(
  { unitOfWork, embedding = noEmbedding }: DocumentDependencies,
  { tenantId, documentId }: IngestDocumentInput,
  chunks: Chunk[],
): Promise<StoredPassages | null> {
  const passages = await unitOfWork.inTenant(tenantId, (em) =>
    withStatementTimeout(em, insertTimeoutMs, () => storePassages(em, documentId, chunks)),
  );
  if (passages !== null) {
    const signal = Context.current().cancellationSignal;
    await withHeartbeats(0, () => embedPassages({ unitOfWork, embedding, tenantId, passages, signal }));
  }
  return passages;
}

async function readContent(
  unitOfWork: UnitOfWork,
  { tenantId, documentId }: IngestDocumentInput,
): Promise<DocumentContent> {
  const document = await unitOfWork.inTenant(tenantId, (em) => em.findOne(Document, { id: documentId }));
  if (document === null) {
    // Deleted meanwhile; finishing the ingestion detects it.
    throw new ExtractionFailure('extraction_failed');
  }
  const store = PostgresByteStore.inSteps(tenantId, (step) => unitOfWork.inTenant(tenantId, step));
  const content = await readAll(store.open(document.contentKey)).catch((error: unknown) => {
    throw error instanceof BytesNotFound ? new ExtractionFailure('extraction_failed') : error;
  });
  return { mediaType: document.mediaType, content };
}

/** Heartbeat details give the next attempt the number of extractions that began and never ended. */
async function extract(
  { extractor, unitOfWork }: DocumentDependencies,
  input: IngestDocumentInput,
): Promise<Outcome> {
  const context = Context.current();
  const lost = lostExtractions(context.info.heartbeatDetails);
  if (lost >= maxLostExtractions) {
    return { failure: 'extraction_failed' };
  }
  try {
    const source = { tenantId: input.tenantId, read: () => readContent(unitOfWork, input) };
    const { chunks } = await withHeartbeats(lost + 1, () =>
      extractor.extract(source, context.cancellationSignal),
    );
    return { chunks };
  } catch (error) {
    if (error instanceof ExtractorBusy) {
      // Frees its slot, so that a tenant with many documents does not occupy all of the worker's.
      throw retryLater('extractor_busy', busyPauseMs(context.info.attempt));
    }
    if (error instanceof ExtractionFailure) {
      return { failure: error.code };
    }
    throw error;
  } finally {
    context.heartbeat(lost);
  }
}

/** Sends heartbeats while `work` runs, with details for the next attempt. */
async function withHeartbeats<T>(details: number, work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  context.heartbeat(details);
  const beat = setInterval(() => context.heartbeat(details), heartbeatMs);
  try {
    return await work();
  } finally {
    clearInterval(beat);
  }
}

/** Grows from attempt to attempt, with jitter: hundreds may wait. */
const busyPauseMs = (attempt: number): number =>
  Math.round(Math.min(1_000 * 2 ** (attempt - 1), maxBusyPauseMs) * (0.75 + Math.random() / 2));

function lostExtractions(details: unknown): number {
  return typeof details === 'number' ? details : 0;
}
