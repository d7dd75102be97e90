import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { detectEncoding } from '#domain/knowledge/collections/text-encoding.ts';
import { detectMediaType } from '#domain/knowledge/collections/media-type.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import {
  ExtractionFailure,
  type DocumentContent,
  type ExtractedText,
} from '#domain/knowledge/ingestion/document-extractor.ts';
import type { PartReader } from './document-parts.ts';
import { Archive, inflationBudget, type InflationBudget } from './archive.ts';
import { decodeText } from './decode-text.ts';
import { markdownSections } from './markdown-sections.ts';
import { withoutHtmlTables } from './markdown-tables.ts';
import { isNestedDeeply } from './nested-deeply.ts';
import { maxTextLength, withoutSoftHyphens } from './text-builder.ts';
import { textKind } from './text-kind.ts';

export interface ReadText extends ExtractedText {
  mediaType: DocumentMediaType;
}

/** State of one uploaded document, shared with its attachments. */
interface Scope {
  budget: InflationBudget;
  /** Messages around the content. */
  depth: number;
  /** Whether the content is within another document that is no message: its own parts are not followed. */
  isPart: boolean;
}

/** Texts that look like others: for a part, too, what it is declared as decides. */
const declaredTexts = ['text/html', 'text/csv', 'text/markdown', 'message/rfc822'] as const;
/** Messages within messages that are read. */
const maxMessages = 5;
/** UTF-16 units of a page whose main part is searched for; of a longer or deeply nested page all text is taken. */
const maxMainPart = 2_000_000;

/** Reads a document by what its content is. Readers are imported on demand: most documents need one of them. */
export async function readDocument(
  { content, mediaType: declared }: DocumentContent,
  scope: Scope = { budget: inflationBudget(), depth: 0, isPart: false },
): Promise<ReadText> {
  const detected = detectMediaType(content, declared);
  const isText = detected.startsWith('text/') || detected.startsWith('message/') || detected.endsWith('json');
  const read = isText
    ? readText(content, detected as DocumentMediaType, scope)
    : readBinary(content, detected, scope);
  const extracted = await read;
  if (extracted.text.length > maxTextLength) {
    throw new ExtractionFailure('too_large');
  }
  return extracted;
}

async function readBinary(content: Uint8Array, detected: string, scope: Scope): Promise<ReadText> {
  const { budget } = scope;
  const parts = scope.isPart ? null : partReader({ ...scope, isPart: true });
  const mediaType = (
    detected === 'application/zip' ? await packageType(await Archive.open(content, budget)) : detected
  ) as DocumentMediaType;
  const archive = () => Archive.open(content, budget);
  switch (mediaType) {
    case 'application/pdf': {
      const { readPdf } = await import('./read-pdf.ts');
      return { mediaType, ...(await readPdf(content, parts)) };
    }
    case 'application/vnd.openxmlformats-officedocument.wordprocessingml.document': {
      const { readDocx } = await import('./read-docx.ts');
      return { mediaType, ...(await readDocx(await archive(), parts)) };
    }
    case 'application/vnd.openxmlformats-officedocument.presentationml.presentation': {
      const { readPptx } = await import('./read-pptx.ts');
      return { mediaType, ...(await readPptx(await archive())) };
    }
    case 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': {
      const { readXlsx } = await import('./read-xlsx.ts');
      return { mediaType, ...(await readXlsx(await archive())) };
    }
    case 'application/vnd.oasis.opendocument.text':
    case 'application/vnd.oasis.opendocument.spreadsheet':
    case 'application/vnd.oasis.opendocument.presentation': {
      const { readOpenDocument } = await import('./read-open-document.ts');
      return { mediaType, ...(await readOpenDocument(await archive())) };
    }
    case 'application/epub+zip': {
      const { readEpub } = await import('./read-epub.ts');
      return { mediaType, ...(await readEpub(await archive())) };
    }
    default:
      throw new ExtractionFailure(isEncryptedOffice(content, detected) ? 'encrypted' : 'unsupported_format');
  }
}

async function readText(content: Uint8Array, detected: DocumentMediaType, scope: Scope): Promise<ReadText> {
  const decoded = decodeText(content);
  const mediaType = detected === 'text/html' ? detected : textKind(decoded, detected);
  if (mediaType !== 'message/rfc822' && decoded.length > maxTextLength * 2) {
    throw new ExtractionFailure('too_large');
  }
  const text = withoutSoftHyphens(cleanText(decoded));
  switch (mediaType) {
    case 'text/markdown': {
      const shown = withoutHtmlTables(text);
      return { mediaType, text: shown, sections: markdownSections(shown) };
    }
    case 'text/html':
      return { mediaType, ...(await readPage(text)) };
    case 'text/csv':
    case 'text/tab-separated-values': {
      const { likelyDelimiter, readCsv } = await import('./read-csv.ts');
      return { mediaType, ...(await readCsv(text, likelyDelimiter(text, mediaType))) };
    }
    case 'text/x-source-code': {
      const { readSourceCode } = await import('./read-source-code.ts');
      return { mediaType, ...readSourceCode(text) };
    }
    case 'application/json':
    case 'application/x-ndjson': {
      const { readJson, readJsonLines } = await import('./read-json.ts');
      return { mediaType, ...(mediaType === 'application/json' ? readJson(text) : readJsonLines(text)) };
    }
    case 'message/rfc822':
      return { mediaType, ...(await readMessage(bytesOf(content, decoded), scope)) };
    default:
      return {
        mediaType: 'text/plain',
        text,
        sections: [{ heading: null, page: null, anchor: null, start: 0, end: text.length }],
      };
  }
}

async function readPage(html: string): Promise<ExtractedText> {
  if (html.length > maxMainPart || isNestedDeeply(html)) {
    return wholePage(html, '');
  }
  const { readHtml } = await import('./read-html.ts');
  const { title, markdown } = await readHtml(html);
  // A page of a heading alone, or of nothing that looks like an article, has a text nevertheless.
  if (markdown.trim() === '') {
    return wholePage(html, title);
  }
  const text = withoutSoftHyphens(cleanText(title === '' ? markdown : `# ${title}\n\n${markdown}`));
  return { text, sections: markdownSections(text) };
}

async function wholePage(html: string, title: string): Promise<ExtractedText> {
  const [{ addParagraphs }, { htmlParagraphs }, { TextBuilder }] = await Promise.all([
    import('./headed-text.ts'),
    import('./html-paragraphs.ts'),
    import('./text-builder.ts'),
  ]);
  const builder = new TextBuilder();
  addParagraphs(builder, [{ text: title, level: 1 }, ...htmlParagraphs(html)]);
  return builder.build();
}

/** Bytes of a message: a file in UTF-16 or UTF-32 is made of other bytes than its headers describe. */
function bytesOf(content: Uint8Array, decoded: string): Uint8Array {
  return /^utf-(?:16|32)/.test(detectEncoding(content) ?? '') ? Buffer.from(decoded) : content;
}

async function readMessage(content: Uint8Array, scope: Scope): Promise<ExtractedText> {
  if (scope.depth >= maxMessages) {
    throw new ExtractionFailure('too_large');
  }
  const { readEmail } = await import('./read-email.ts');
  const attached = partReader({ ...scope, depth: scope.depth + 1 });
  const { messageStarts, readMbox } = await import('./read-mbox.ts');
  const mailbox = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('latin1');
  const starts = messageStarts(mailbox);
  return starts.length > 1
    ? readMbox(mailbox, starts, (message) => readEmail(message, attached))
    : (await readEmail(content, attached)).text;
}

/** Reads what a document holds within it. Limits hold for both together; what cannot be read is left out. */
function partReader(scope: Scope): PartReader {
  return async (content, declared) => {
    try {
      const mediaType = declaredTexts.find((each) => each === declared) ?? 'text/plain';
      return await readDocument({ content, mediaType }, scope);
    } catch (error) {
      if (error instanceof ExtractionFailure && error.code === 'too_large') throw error;
      return null;
    }
  };
}

/** A package whose first entry does not hold its type, which it should. */
async function packageType(archive: Archive): Promise<string> {
  const named = (await archive.text('mimetype')).trim();
  return named === '' && archive.has('META-INF/container.xml') ? 'application/epub+zip' : named;
}

/**
 * Office encrypts a whole package into a stream of this name. As bytes: to look for a text in UTF-16 does not end where
 * the content begins at an odd address.
 */
const encryptedPackage = Buffer.from('EncryptedPackage', 'utf16le');

function isEncryptedOffice(content: Uint8Array, detected: string): boolean {
  return (
    detected === 'application/x-ole-storage' &&
    Buffer.from(content.buffer, content.byteOffset, content.byteLength).includes(encryptedPackage)
  );
}
