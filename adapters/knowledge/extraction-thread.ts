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

// What a library says of a document must not get into the logs.
globalThis.console = new Console(new Writable({ write: (_chunk, _encoding, done) => done() }));

/**
 * Reads and cuts one document. Runs in a thread: libraries work through foreign text here.
 * @returns null when it cannot be read; what a library throws may quote it
 */
export default async function extract(source: DocumentContent): Promise<ExtractedDocument | null> {
  const extracted = await read(source).catch(() => null);
  return extracted && { ...extracted, chunks: chunkText(extracted) };
}

async function read({ mediaType, content: bytes }: DocumentContent): Promise<ExtractedText> {
  const content = new TextDecoder().decode(bytes);
  switch (mediaType) {
    case 'text/plain':
      return plain(cleanText(content));
    case 'text/markdown':
      return markdown(cleanText(content));
    case 'text/html': {
      // Only here: its libraries take longer to load than most texts to read.
      const { readHtml } = await import('./read-html.ts');
      return markdown(cleanText(await readHtml(content)));
    }
    default:
      return assertNever(mediaType);
  }
}

function plain(text: string): ExtractedText {
  return { text, sections: [{ heading: null, start: 0, end: text.length }] };
}

function markdown(text: string): ExtractedText {
  return { text, sections: markdownSections(text) };
}
