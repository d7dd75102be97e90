import type { DocumentContent, DocumentSource } from '#domain/knowledge/ingestion/document-extractor.ts';

/** A document whose text is at hand. */
export const sourceOf = ({
  tenantId,
  mediaType,
  content,
}: Pick<DocumentContent, 'mediaType'> & { tenantId: string; content: string }): DocumentSource => ({
  tenantId,
  read: () => Promise.resolve({ mediaType, content: new TextEncoder().encode(content) }),
});
