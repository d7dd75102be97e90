import type { DocumentMediaType } from './document-status.ts';

/** Content that begins with these bytes is not text, whatever its declared type. */
const signatures: readonly (readonly [mediaType: string, bytes: readonly number[]])[] = [
  ['application/pdf', ascii('%PDF-')],
  ['application/zip', [0x50, 0x4b, 0x03, 0x04]],
  ['application/gzip', [0x1f, 0x8b]],
  ['application/x-ole-storage', [0xd0, 0xcf, 0x11, 0xe0]],
  ['application/x-7z-compressed', [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c]],
  ['application/rtf', ascii('{\\rtf')],
  ['image/png', [0x89, 0x50, 0x4e, 0x47]],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', ascii('GIF8')],
];

/** Number of leading bytes that are examined. */
export const sniffedBytes = 4_096;

const page = /^\s*(?:<!doctype html|<html[\s>])/i;

/**
 * The type of content that begins with `head`. Content alone does not distinguish text types: there `declared`
 * decides, except that a complete HTML page is always HTML.
 */
export function detectMediaType(head: Uint8Array, declared: DocumentMediaType): string {
  const signature = signatures.find(([, bytes]) => bytes.every((byte, index) => head[index] === byte));
  if (signature !== undefined) {
    return signature[0];
  }
  const text = textOf(head.subarray(0, sniffedBytes));
  if (text === null) {
    return 'application/octet-stream';
  }
  return page.test(text) ? 'text/html' : declared;
}

/** @returns null for content that is not UTF-8, or contains NUL; a character cut off at the end is ignored. */
function textOf(head: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}

function ascii(text: string): number[] {
  return [...Buffer.from(text, 'latin1')];
}
