import { decodeBytes } from '#domain/foundation/kernel/decode-bytes.ts';
import { detectEncoding } from '#domain/knowledge/collections/text-encoding.ts';
import { ExtractionFailure } from '#domain/knowledge/ingestion/document-extractor.ts';

const declaration = /^<\?xml[^>]*encoding\s*=\s*["']([\w-]+)|<meta[^>]*charset\s*=\s*["']?([\w-]+)/i;
const declaredWithin = 2_048;

/** @throws `ExtractionFailure` unsupported_format for content that is not text */
export function decodeText(bytes: Uint8Array): string {
  const encoding = detectEncoding(bytes);
  if (encoding === null) {
    throw new ExtractionFailure('unsupported_format');
  }
  // Unicode and escape sequences are certain; of older encodings a page or an XML file says which one it has.
  const known = /^(?:utf-|iso-2022-kr)/.test(encoding) ? encoding : (declaredEncoding(bytes) ?? encoding);
  return decodeBytes(bytes, known);
}

function declaredEncoding(bytes: Uint8Array): string | null {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, declaredWithin));
  const [, ofXml, ofPage] = declaration.exec(head) ?? [];
  try {
    const { encoding: declared } = new TextDecoder(ofXml ?? ofPage ?? '');
    // Bytes that are not Unicode do not become so by what they say.
    return declared.startsWith('utf-') ? null : declared;
  } catch {
    return null;
  }
}
