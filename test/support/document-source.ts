import type { DocumentContent, DocumentSource } from '#domain/knowledge/ingestion/document-extractor.ts';

/** A document with its content in memory. */
export const sourceOf = ({
  tenantId,
  ...content
}: DocumentContent & { tenantId: string }): DocumentSource => ({
  tenantId,
  read: () => Promise.resolve(content),
});
