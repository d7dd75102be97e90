import { ExtractionFailure } from '#domain/knowledge/ingestion/document-extractor.ts';

/** What a part beside the document's own holds, `none` if it is broken. Limits hold for all parts together. */
export async function optionalPart<T>(read: () => Promise<T>, none: T): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ExtractionFailure && error.code === 'malformed') return none;
    throw error;
  }
}
