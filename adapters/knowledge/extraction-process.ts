import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { endWithParent } from '#adapters/process/end-with-parent.ts';
import { chunkText } from '#domain/knowledge/ingestion/chunk-text.ts';
import { ExtractionFailure, type ExtractionFault } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { DocumentPart, ExtractionMessage, ExtractionRequest } from './extraction-messages.ts';
import { knowsManyPatterns } from './formats/known-patterns.ts';
import { readDocument } from './formats/read-document.ts';

// Messages of libraries may quote the document, so they must not reach the logs.
globalThis.console = new Console(new Writable({ write: (_chunk, _encoding, done) => done() }));

const textPart = 200_000;
const listPart = 1_000;
/** More of them together would hold the parent for long. */
const partsAtOnce = 4;
/** A document of the maximum length has about 25,000 passages, unless nearly all of it is headings. */
const maxChunks = 100_000;

endWithParent();
process.on('message', (request: ExtractionRequest) => {
  void (request.content === null ? receive(request.byteLength) : Promise.resolve(ownCopy(request.content)))
    .then((content) => extract({ ...request, content }))
    .catch((error: unknown) => send({ kind: 'failed', code: faultOf(error), isSpent: knowsManyPatterns() }));
});

async function extract(source: ExtractionRequest & { content: Uint8Array }): Promise<void> {
  const { text, sections, mediaType } = await readDocument(source);
  const chunks = chunkText({ text, sections });
  if (chunks.length > maxChunks || sections.length > maxChunks) {
    throw new ExtractionFailure('too_large');
  }
  const ranges = chunks.map(({ text: _text, ...range }) => range);
  const parts: DocumentPart[] = [
    ...cut(text, textPart).map((part) => ({ kind: 'text' as const, text: part })),
    ...cut(sections, listPart).map((part) => ({ kind: 'sections' as const, sections: part })),
    ...cut(ranges, listPart).map((part) => ({ kind: 'chunks' as const, chunks: part })),
    { kind: 'done', mediaType, isSpent: knowsManyPatterns() },
  ];
  if (parts.length <= partsAtOnce) {
    await send({ kind: 'parts', parts });
    return;
  }
  for (const part of parts) {
    await send(part);
  }
}

/** Parts of this length, in their order. */
function cut<T extends { length: number; slice(from: number, to: number): T }>(
  whole: T,
  length: number,
): T[] {
  return Array.from({ length: Math.ceil(whole.length / length) }, (_, n) =>
    whole.slice(n * length, (n + 1) * length),
  );
}

/** Bytes of a message begin at any address, and readers of formats may expect them to begin at an even one. */
function ownCopy(content: Uint8Array): Uint8Array {
  return Buffer.from(Uint8Array.from(content).buffer);
}

/** The next bytes of standard input. */
async function receive(byteLength: number): Promise<Uint8Array> {
  const content = Buffer.allocUnsafeSlow(byteLength);
  let at = 0;
  while (at < byteLength) {
    const part = process.stdin.read() as Buffer | null;
    if (part === null) {
      await new Promise((resolve) => process.stdin.once('readable', resolve));
      continue;
    }
    at += part.copy(content, at);
  }
  return content;
}

function send(message: ExtractionMessage): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, () => resolve());
  });
}

/** The error of a library may quote the document: only a code leaves the process. */
function faultOf(error: unknown): ExtractionFault {
  if (error instanceof ExtractionFailure) {
    return error.code;
  }
  const tooLarge = error instanceof RangeError && /allocation failed|length/i.test(error.message);
  return tooLarge ? 'too_large' : 'malformed';
}
