import type { IngestDocumentInput } from '#workflows/ingest-document/messages.ts';
import { ingestDocument, type DocumentDependencies } from './ingest-document.ts';

export function createKnowledgeActivities(deps: DocumentDependencies) {
  return {
    ingestDocument: (input: IngestDocumentInput) => ingestDocument(deps, input),
  };
}
