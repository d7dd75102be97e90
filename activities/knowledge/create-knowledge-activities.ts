import type { EmbedSpaceInput } from '#workflows/embed-space/messages.ts';
import type { IngestDocumentInput } from '#workflows/ingest-document/messages.ts';
import { keepAlive } from '../keep-alive.ts';
import { embedDocument, type EmbeddingDependencies } from './embed-document.ts';
import { embedSpace } from './embed-space.ts';
import { extractDocument, type ExtractionDependencies } from './extract-document.ts';
import { finishDocument } from './finish-document.ts';
import { ingestDocument } from './ingest-document.ts';

export type DocumentDependencies = ExtractionDependencies & EmbeddingDependencies;

export function createKnowledgeActivities(deps: DocumentDependencies) {
  return {
    ingestDocument: (input: IngestDocumentInput) => ingestDocument(deps, input),
    extractDocument: (input: IngestDocumentInput) => extractDocument(deps, input),
    embedDocument: (input: IngestDocumentInput) =>
      keepAlive(({ signal }) => embedDocument(deps, input, signal)),
    finishDocument: (input: IngestDocumentInput) => finishDocument(deps, input),
    embedSpace: (input: EmbedSpaceInput) => keepAlive(({ signal }) => embedSpace(deps, input, signal)),
  };
}
