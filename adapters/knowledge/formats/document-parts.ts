import type { ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';

/** Reads a document within another one, such as an attachment; null when its format has no text. */
export type PartReader = (content: Uint8Array, mediaType: string) => Promise<ExtractedText | null>;

const types: ReadonlyMap<string, string> = new Map([
  ...['htm', 'html', 'xhtml'].map((name) => [name, 'text/html'] as const),
  ...['eml', 'mht', 'mhtml'].map((name) => [name, 'message/rfc822'] as const),
  ['csv', 'text/csv'],
  ['md', 'text/markdown'],
]);

/** The type of a text within another document, by the end of its name: other formats are known by their content. */
export function typeOfName(name: string): string {
  return types.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase()) ?? 'text/plain';
}
