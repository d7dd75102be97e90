import { decodeBytes } from '#domain/foundation/kernel/decode-bytes.ts';
import type { DocumentMediaType } from './document-status.ts';
import { detectEncoding } from './text-encoding.ts';

/** Content that begins with these bytes is not text, whatever its declared type. */
const signatures: readonly (readonly [mediaType: string, bytes: readonly number[]])[] = [
  ['application/pdf', ascii('%PDF-')],
  ['application/zip', [0x50, 0x4b, 0x03, 0x04]],
  ['application/zip', [0x50, 0x4b, 0x05, 0x06]],
  ['application/gzip', [0x1f, 0x8b]],
  ['application/x-ole-storage', [0xd0, 0xcf, 0x11, 0xe0]],
  ['application/x-7z-compressed', [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]],
  ['application/vnd.rar', ascii('Rar!\x1a\x07')],
  ['application/rtf', ascii('{\\rtf')],
  ['image/png', [0x89, 0x50, 0x4e, 0x47]],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', ascii('GIF8')],
];

/** Names of entries by which packages are known. A package of another kind is `application/zip`. */
const officeParts: readonly (readonly [DocumentMediaType, string])[] = [
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'word/document'],
  ['application/vnd.openxmlformats-officedocument.presentationml.presentation', 'ppt/presentation'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xl/workbook'],
];
/** Packages whose first entry holds their type. */
const typedPackages: readonly DocumentMediaType[] = [
  'application/vnd.oasis.opendocument.text',
  'application/vnd.oasis.opendocument.spreadsheet',
  'application/vnd.oasis.opendocument.presentation',
  'application/epub+zip',
];

/** Number of leading bytes that are examined, and of trailing ones. */
export const sniffedBytes = 4_096;
export const sniffedTailBytes = 65_536;
/** A PDF file may begin with other bytes, such as the ticket of a printer. */
const maxBeforePdf = 1_024;

const page = /^\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype html|<html[\s>])/i;

/**
 * The type of content that begins with `head` and ends with `tail`; where the whole content is at hand, give it as
 * `head` alone. Content alone does not distinguish text types: there `declared` decides, except that a complete HTML
 * page is always HTML.
 */
export function detectMediaType(head: Uint8Array, declared: DocumentMediaType, tail = head): string {
  const signature = signatures.find(([, bytes]) => bytes.every((byte, index) => head[index] === byte))?.[0];
  if (signature === 'application/zip') {
    return packageType(head.subarray(0, sniffedBytes), tail.subarray(-sniffedTailBytes));
  }
  if (signature !== undefined) {
    return signature;
  }
  if (
    latin1(head.subarray(0, maxBeforePdf)).includes('%PDF-') &&
    latin1(tail.subarray(-2_048)).includes('%%EOF')
  ) {
    return 'application/pdf';
  }
  const sample = head.subarray(0, sniffedBytes);
  const encoding = detectEncoding(sample);
  if (encoding === null) {
    return 'application/octet-stream';
  }
  return page.test(decodeBytes(sample, encoding)) ? 'text/html' : textType(declared);
}

/** Names of entries stand before their contents, and once more in the directory at the end. */
function packageType(head: Uint8Array, tail: Uint8Array): string {
  const beginning = latin1(head);
  const typed = typedPackages.find((mediaType) => beginning.startsWith(`mimetype${mediaType}`, 30));
  if (typed !== undefined) {
    return typed;
  }
  const names = (beginning + latin1(tail)).toLowerCase().replaceAll('\\', '/');
  return officeParts.find(([, part]) => names.includes(part))?.[0] ?? 'application/zip';
}

/** Text that was declared as a binary format is plain text. */
function textType(declared: DocumentMediaType): DocumentMediaType {
  return isText(declared) ? declared : 'text/plain';
}

export function isText(mediaType: DocumentMediaType): boolean {
  return /^(?:text\/|message\/|application\/(?:json|x-ndjson)$)/.test(mediaType);
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

function ascii(text: string): number[] {
  return [...Buffer.from(text, 'latin1')];
}
