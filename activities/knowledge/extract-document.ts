import { Context } from '@temporalio/activity';
import { BytesNotFound } from '#domain/foundation/bytes/byte-store.ts';
import { readAll } from '#domain/foundation/bytes/parts.ts';
import { PostgresByteStore } from '#domain/foundation/bytes/postgres-byte-store.ts';
import type { BulkTurns } from '#domain/foundation/kernel/bulk-turns.ts';
import { withStatementTimeout } from '#domain/foundation/persistence/statement-timeout.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { Document } from '#domain/knowledge/collections/document.entity.ts';
import type { DocumentFailureCode } from '#domain/knowledge/collections/document-status.ts';
import {
  ExtractionFailure,
  ExtractorBusy,
  type Chunk,
  type DocumentContent,
  type DocumentExtractor,
} from '#domain/knowledge/ingestion/document-extractor.ts';
import { finishIngestion, ingestionState } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import type { IngestDocumentInput, IngestDocumentResult } from '#workflows/ingest-document/messages.ts';
import { busyPauseMs } from '../busy-pause.ts';
import { retryLater } from '../failures.ts';
import { keepAlive } from '../keep-alive.ts';

export interface ExtractionDependencies {
  unitOfWork: UnitOfWork;
  extractor: DocumentExtractor;
  /** Documents that are uploaded give way to responses; omitted: to nothing. */
  uploads?: Pick<BulkTurns, 'take'>;
}

type Outcome = { chunks: Chunk[] } | { failure: DocumentFailureCode };

/** What one attempt has done for a document. */
export interface Extraction {
  result: IngestDocumentResult;
  /** This attempt stored the passages; false: an earlier one did, or there are none. */
  isStoredNow: boolean;
}

/** Max extractions of one document that end with a crash of their worker, beside a short one of a first attempt. */
const maxLostExtractions = 3;
const heartbeatMs = 2_000;
/**
 * How long, and how often, the first attempt asks for a place to be extracted before it frees its slot: most extractions
 * take milliseconds, and another attempt costs the Temporal server more.
 */
const placeMs = 3_000;
const placePauseMs = 100;
/** Of a statement for all passages of a document, such as that which takes over their vectors. */
const insertTimeoutMs = 30_000;

/**
 * Extracts a document and stores its passages, which are searched by keyword from then on. A document that cannot be
 * read ends as failed. Idempotent within a run of the workflow, also when run concurrently.
 */
export async function extractDocument(
  deps: ExtractionDependencies,
  input: IngestDocumentInput,
): Promise<Extraction> {
  const { unitOfWork } = deps;
  const readingId = Context.current().info.workflowExecution?.runId ?? '';
  const before = await unitOfWork.inTenant(input.tenantId, (em) =>
    em.findOne(Document, { id: input.documentId }),
  );
  if (before?.status !== 'processing' || before.ingestedBy === readingId) {
    return { result: ingestionState(before), isStoredNow: false };
  }
  const outcome = await extract(deps, input);
  const store = () =>
    unitOfWork.inTenant(input.tenantId, (em) =>
      withStatementTimeout(em, insertTimeoutMs, async () => {
        if ('failure' in outcome || outcome.chunks.length === 0) {
          const failure = 'failure' in outcome ? outcome.failure : 'empty_document';
          return { result: await finishIngestion(em, input.documentId, failure), isStoredNow: false };
        }
        const { documentId } = input;
        const stored = await storePassages(em, { documentId, readingId, chunks: outcome.chunks });
        return {
          result: ingestionState(stored ?? (await em.findOne(Document, { id: documentId }))),
          isStoredNow: stored !== null,
        };
      }),
    );
  return keepAlive(store, heartbeatMs, 0);
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
  { extractor, unitOfWork, uploads }: ExtractionDependencies,
  input: IngestDocumentInput,
): Promise<Outcome> {
  const context = Context.current();
  const lost = lostExtractions(context.info.heartbeatDetails);
  if (lost >= maxLostExtractions) {
    return { failure: 'extraction_failed' };
  }
  if (uploads !== undefined) {
    await keepAlive(({ signal }) => uploads.take(input.tenantId, signal), heartbeatMs, lost);
  }
  try {
    const { chunks } = await withHeartbeats(lost, (begin) => {
      const read = () => {
        begin();
        return readContent(unitOfWork, input);
      };
      const source = { tenantId: input.tenantId, read };
      return inPlace(() => extractor.extract(source, context.cancellationSignal));
    });
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
  }
}

/** @throws `ExtractorBusy` when there is no place in time */
async function inPlace<T>(extract: () => Promise<T>): Promise<T> {
  const context = Context.current();
  for (const end = context.info.attempt === 1 ? Date.now() + placeMs : 0; ;) {
    try {
      return await extract();
    } catch (error) {
      if (!(error instanceof ExtractorBusy) || Date.now() >= end) {
        throw error;
      }
      await context.sleep(placePauseMs);
    }
  }
}

/**
 * Sends heartbeats while `work` runs, with the number of lost extractions for the next attempt: from `begin` on, when
 * there is a place and the document is read, this one would be another. Each is a write of the Temporal server, and most
 * documents are extracted at once: a first attempt sends none that it does not need.
 */
async function withHeartbeats<T>(lost: number, work: (begin: () => void) => Promise<T>): Promise<T> {
  const context = Context.current();
  let lostWithThis = lost;
  let isKnown = false;
  const beat = () => {
    isKnown = true;
    context.heartbeat(lostWithThis);
  };
  const begin = () => {
    lostWithThis = lost + 1;
    if (context.info.attempt > 1) beat();
  };
  const timer = setInterval(beat, heartbeatMs);
  try {
    return await work(begin);
  } finally {
    clearInterval(timer);
    if (isKnown) context.heartbeat(lost);
  }
}

function lostExtractions(details: unknown): number {
  return typeof details === 'number' ? details : 0;
}
