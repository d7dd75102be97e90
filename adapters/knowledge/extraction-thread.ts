import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { assertNever } from '#domain/foundation/kernel/assert-never.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { chunkText } from '#domain/knowledge/ingestion/chunk-text.ts';
import type {
  DocumentContent,
  ExtractedDocument,
  ExtractedText,
} from '#domain/knowledge/ingestion/document-extractor.ts';
import { markdownSections } from './markdown-sections.ts';

// Messages of libraries may quote the document, so they must not reach the logs.
globalThis.console = new Console(new Writable({ write: (_chunk, _encoding, done) => done() }));

/**
 * Extracts and splits one document. Runs in a thread, because libraries parse untrusted text here.
 * @returns null when the document cannot be read: the error of a library may quote it
 */
export default async function extract(source: DocumentContent): Promise<ExtractedDocument | null> {
  const extracted = await read(source).catch(() => null);
  return extracted && { ...extracted, mediaType: source.mediaType, chunks: chunkText(extracted) };
}

async function read({ mediaType, content: bytes }: DocumentContent): Promise<ExtractedText> {
  const content = new TextDecoder().decode(bytes);
  switch (mediaType) {
    case 'text/plain':
    case 'text/csv':
    case 'text/tab-separated-values':
    case 'text/x-source-code':
    case 'application/json':
    case 'application/x-ndjson':
    case 'message/rfc822':
      return plain(cleanText(content));
    case 'text/markdown':
      return markdown(cleanText(content));
    case 'text/html': {
      // Imported on demand: loading these libraries takes longer than reading most texts.
      const { readHtml } = await import('./read-html.ts');
      return markdown(cleanText(await readHtml(content)));
    }
    case 'application/pdf':
    case 'application/vnd.openxmlformats-officedocument.wordprocessingml.document':
    case 'application/vnd.openxmlformats-officedocument.presentationml.presentation':
    case 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet':
    case 'application/vnd.oasis.opendocument.text':
    case 'application/vnd.oasis.opendocument.spreadsheet':
    case 'application/vnd.oasis.opendocument.presentation':
    case 'application/epub+zip':
      throw new Error('There is no reader of this format.');
    default:
      return assertNever(mediaType);
  }
}

function plain(text: string): ExtractedText {
  return { text, sections: [{ heading: null, page: null, anchor: null, start: 0, end: text.length }] };
}

function markdown(text: string): ExtractedText {
  return { text, sections: markdownSections(text) };
}
