import type { DocumentContent, DocumentSource } from '#domain/knowledge/ingestion/document-extractor.ts';

/** A document whose content is at hand. */
export const sourceOf = ({
  tenantId,
  ...content
}: DocumentContent & { tenantId: string }): DocumentSource => ({
  tenantId,
  read: () => Promise.resolve(content),
});
