/** Ids only: the document's text stays in the database. */
export interface IngestDocumentInput {
  tenantId: string;
  documentId: string;
}

export interface IngestDocumentEnd {
  status: IngestDocumentResult['status'];
  reason: string | null;
  chunkCount: number;
}

export interface IngestDocumentResult {
  /** `gone`: deleted before it was read. */
  status: 'processing' | 'ready' | 'failed' | 'gone';
  chunkCount: number;
  failureCode: string | null;
}
