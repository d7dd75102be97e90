/** Ids only: the document's text stays in the database. */
export interface IngestDocumentInput {
  tenantId: string;
  documentId: string;
}

export interface IngestDocumentResult {
  /** `gone`: deleted before it was read. */
  status: 'processing' | 'ready' | 'failed' | 'gone';
  chunkCount: number;
  failureCode: string | null;
}
