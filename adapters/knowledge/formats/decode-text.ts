import { detectEncoding } from '#domain/knowledge/collections/text-encoding.ts';
import { ExtractionFailure } from '#domain/knowledge/ingestion/document-extractor.ts';

/** @throws `ExtractionFailure` unsupported_format for content that is not text */
export function decodeText(bytes: Uint8Array): string {
  const encoding = detectEncoding(bytes);
  if (encoding === null) {
    throw new ExtractionFailure('unsupported_format');
  }
  return new TextDecoder(encoding).decode(bytes);
}
