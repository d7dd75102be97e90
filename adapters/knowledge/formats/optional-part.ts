import { ExtractionFailure } from '#domain/knowledge/ingestion/document-extractor.ts';

/** The text of a part beside the document's own, '' if it is broken. Limits hold for all parts together. */
export async function optionalPart(read: () => Promise<string>): Promise<string> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ExtractionFailure && error.code === 'malformed') return '';
    throw error;
  }
}
