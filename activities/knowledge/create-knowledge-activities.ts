import type { EmbedSpaceInput } from '#workflows/embed-space/messages.ts';
import type { IngestDocumentInput } from '#workflows/ingest-document/messages.ts';
import { keepAlive } from '../keep-alive.ts';
import { embedDocument, embeddingBeatMs, type EmbeddingDependencies } from './embed-document.ts';
import { embedSpace } from './embed-space.ts';
import type { ExtractionDependencies } from './extract-document.ts';
import { finishDocument } from './finish-document.ts';
import { ingestDocument } from './ingest-document.ts';
import { embeddingPlaces, readDocument } from './read-document.ts';

export type DocumentDependencies = ExtractionDependencies & EmbeddingDependencies;

export function createKnowledgeActivities(deps: DocumentDependencies) {
  const reading = { ...deps, places: embeddingPlaces() };
  return {
    ingestDocument: (input: IngestDocumentInput) => ingestDocument(deps, input),
    // Named by the step that it was before: histories hold the name, and workflows take either result.
    extractDocument: (input: IngestDocumentInput) => readDocument(reading, input),
    embedDocument: (input: IngestDocumentInput) =>
      keepAlive(({ signal }) => embedDocument(deps, input, signal), embeddingBeatMs),
    finishDocument: (input: IngestDocumentInput) => finishDocument(deps, input),
    embedSpace: (input: EmbedSpaceInput) =>
      keepAlive(({ signal }) => embedSpace(deps, input, signal), embeddingBeatMs),
  };
}
