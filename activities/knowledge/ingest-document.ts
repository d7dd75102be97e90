import type { EntityManager } from '@mikro-orm/postgresql';
import { Context } from '@temporalio/activity';
import { Document } from '#domain/knowledge/collections/document.entity.ts';
import {
  ExtractionFailure,
  ExtractorBusy,
  type Chunk,
  type DocumentExtractor,
  type DocumentContent,
} from '#domain/knowledge/ingestion/document-extractor.ts';
import { finishIngestion, ingestionState } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { withStatementTimeout } from '#domain/foundation/persistence/statement-timeout.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { IngestDocumentInput, IngestDocumentResult } from '#workflows/ingest-document/messages.ts';
import { retryLater } from '../failures.ts';

export interface DocumentDependencies {
  unitOfWork: UnitOfWork;
  extractor: DocumentExtractor;
}

type Outcome = { chunks: Chunk[] } | { failure: 'extraction_failed' };

/** Extractions of one document that may end with their worker before the document is given up. */
const mostLostExtractions = 3;
const heartbeatMs = 2_000;
const longestBusyPauseMs = 120_000;
/** All passages of a large document go in at once. */
const insertTimeoutMs = 30_000;

/** Extracts a document, cuts it and stores its passages. Safe to run any number of times, also at once. */
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
  return unitOfWork.inTenant(input.tenantId, (em) =>
    withStatementTimeout(em, insertTimeoutMs, () => finishIngestion(em, input.documentId, outcome)),
  );
}

async function readContent(em: EntityManager, documentId: string): Promise<DocumentContent> {
  const document = await em.findOne(Document, { id: documentId }, { populate: ['content'] });
  if (document === null) {
    // Deleted meanwhile, as its end will find.
    throw new ExtractionFailure('unreadable');
  }
  return { mediaType: document.mediaType, content: document.content };
}

/** The heartbeat tells the next attempt how many extractions were begun and never ended. */
async function extract(
  { extractor, unitOfWork }: DocumentDependencies,
  { tenantId, documentId }: IngestDocumentInput,
): Promise<Outcome> {
  const context = Context.current();
  const lost = lostExtractions(context.info.heartbeatDetails);
  if (lost >= mostLostExtractions) {
    return { failure: 'extraction_failed' };
  }
  context.heartbeat(lost + 1);
  const beat = setInterval(() => context.heartbeat(lost + 1), heartbeatMs);
  try {
    const read = () => unitOfWork.inTenant(tenantId, (em) => readContent(em, documentId));
    const { chunks } = await extractor.extract({ tenantId, read }, context.cancellationSignal);
    return { chunks };
  } catch (error) {
    if (error instanceof ExtractorBusy) {
      // It gives its place up, so that a tenant with many documents does not keep all of the worker's.
      throw retryLater('extractor_busy', busyPauseMs(context.info.attempt));
    }
    if (error instanceof ExtractionFailure) {
      return { failure: 'extraction_failed' };
    }
    throw error;
  } finally {
    clearInterval(beat);
    context.heartbeat(lost);
  }
}

/** Longer from attempt to attempt, and apart from the others': hundreds may wait. */
const busyPauseMs = (attempt: number): number =>
  Math.round(Math.min(1_000 * 2 ** (attempt - 1), longestBusyPauseMs) * (0.75 + Math.random() / 2));

function lostExtractions(details: unknown): number {
  return typeof details === 'number' ? details : 0;
}
