import { Context } from '@temporalio/activity';
import { Document } from '#domain/collections/document.entity.ts';
import { chunkText, type Chunk } from '#domain/knowledge/chunk-text.ts';
import {
  ExtractionFailure,
  type DocumentExtractor,
  type DocumentSource,
} from '#domain/knowledge/document-extractor.ts';
import { finishIngestion, ingestionState } from '#domain/knowledge/finish-ingestion.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import type { IngestDocumentInput, IngestDocumentResult } from '#workflows/ingest-document/messages.ts';

export interface DocumentDependencies {
  unitOfWork: UnitOfWork;
  extractor: DocumentExtractor;
}

type Outcome = { chunks: Chunk[] } | { failure: 'extraction_failed' };

/** Extractions of one document that may end with their worker before the document is given up. */
const mostLostExtractions = 3;
const heartbeatMs = 2_000;

/** Extracts a document, cuts it and stores its passages. Safe to run any number of times, also at once. */
export async function ingestDocument(
  deps: DocumentDependencies,
  input: IngestDocumentInput,
): Promise<IngestDocumentResult> {
  const { unitOfWork } = deps;
  const { state, source } = await unitOfWork.inTenant(input.tenantId, async (em) => {
    const document = await em.findOne(Document, { id: input.documentId }, { populate: ['content'] });
    return { state: ingestionState(document), source: document && toSource(document) };
  });
  if (source === null || state.status !== 'processing') {
    return state;
  }
  const outcome = await extract(deps.extractor, source);
  return unitOfWork.inTenant(input.tenantId, (em) => finishIngestion(em, input.documentId, outcome));
}

function toSource(document: Document): DocumentSource {
  return { mediaType: document.mediaType, content: document.content };
}

/** The heartbeat tells the next attempt how many extractions were begun and never ended. */
async function extract(extractor: DocumentExtractor, source: DocumentSource): Promise<Outcome> {
  const context = Context.current();
  const lost = lostExtractions(context.info.heartbeatDetails);
  if (lost >= mostLostExtractions) {
    return { failure: 'extraction_failed' };
  }
  context.heartbeat(lost + 1);
  const beat = setInterval(() => context.heartbeat(lost + 1), heartbeatMs);
  try {
    return { chunks: chunkText(await extractor.extract(source, context.cancellationSignal)) };
  } catch (error) {
    if (error instanceof ExtractionFailure) {
      return { failure: 'extraction_failed' };
    }
    throw error;
  } finally {
    clearInterval(beat);
    context.heartbeat(lost);
  }
}

function lostExtractions(details: unknown): number {
  return typeof details === 'number' ? details : 0;
}
