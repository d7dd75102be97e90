import { extname } from 'node:path';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { documentMediaTypes, type DocumentMediaType } from './document-status.ts';
import { detectMediaType, isText } from './media-type.ts';

/** What a name says about texts, which look alike. */
const byExtension = new Map([
  ['.md', 'text/markdown'],
  ['.markdown', 'text/markdown'],
  ['.htm', 'text/html'],
  ['.html', 'text/html'],
  ['.csv', 'text/csv'],
  ['.tsv', 'text/tab-separated-values'],
  ['.json', 'application/json'],
  ['.jsonl', 'application/x-ndjson'],
  ['.ndjson', 'application/x-ndjson'],
  ['.eml', 'message/rfc822'],
]);

const supported = (mediaType: string | undefined): DocumentMediaType | undefined =>
  documentMediaTypes.find((known) => known === mediaType);

/** A content type as clients send it, with parameters or none, or else the extension of the name; or plain text. */
export function declaredType(contentType: string | undefined, filename: string): DocumentMediaType {
  const essence = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  return (
    supported(essence) ?? supported(byExtension.get(extname(filename).toLowerCase())) ?? documentMediaTypes[0]
  );
}

/**
 * The type of content that begins with `head` and ends with `tail`.
 * @throws `unsupported_document_type`
 */
export function readableType(head: Uint8Array, declared: DocumentMediaType, tail = head): DocumentMediaType {
  const detected = detectMediaType(head, declared, tail);
  const known = supported(detected);
  if (known === undefined) {
    throw unsupported(`content is ${detected}, not one of ${documentMediaTypes.join(', ')}.`);
  }
  return known;
}

/** The type of a text. @throws `unsupported_document_type` for binary content, which JSON cannot carry unchanged */
export function readableTextType(content: Uint8Array, declared: DocumentMediaType): DocumentMediaType {
  const mediaType = readableType(content, declared);
  if (!isText(mediaType)) {
    throw unsupported(`content is ${mediaType}: upload it as a file.`);
  }
  return mediaType;
}

function unsupported(message: string): DomainError {
  return new DomainError('unsupported_document_type', message, {
    param: 'content',
    errors: [{ in: 'body', pointer: '/content', code: 'unsupported', message }],
  });
}

/** Refuses content that is not readable whatever follows. Which package an archive is may stand at its end. */
export function rejectUnreadable(head: Uint8Array): void {
  if (detectMediaType(head, documentMediaTypes[0]) !== 'application/zip') {
    readableType(head, documentMediaTypes[0]);
  }
}
