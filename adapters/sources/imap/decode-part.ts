/** Encodings of parts that add bytes to their content. */
const isExpanding = (encoding: string): boolean => encoding === 'base64' || encoding === 'quoted-printable';

/** Most bytes that a part is transferred with, where its content may have `maxBytes`. */
export const encodedLimit = (encoding: string, maxBytes: number): number =>
  isExpanding(encoding) ? Math.ceil(maxBytes * 1.5) + 1_024 : maxBytes;

/** Bytes of the content, from those of the part; null: the encoding does not tell. */
export function contentSize(encoding: string, size: number): number | null {
  if (encoding === 'base64') {
    // Lines of 76 characters, as everybody writes them.
    return Math.floor((size / 78) * 57);
  }
  return encoding === 'quoted-printable' ? null : size;
}

export function decodePart(encoding: string, bytes: Buffer): Buffer {
  switch (encoding) {
    case 'base64':
      return Buffer.from(bytes.toString('latin1'), 'base64');
    case 'quoted-printable':
      return decodeQuoted(bytes);
    default:
      return bytes;
  }
}

/** Of a soft line break: where its line ends. Blanks may have been added on the way; null: something else follows. */
function lineEndAfter(bytes: Buffer, equals: number): number | null {
  let at = equals + 1;
  while (bytes[at] === 0x20 || bytes[at] === 0x09) at += 1;
  if (bytes[at] === 0x0d) at += 1;
  return bytes[at] === 0x0a ? at : null;
}

/** What is no encoded byte stays as it is. */
function decodeQuoted(bytes: Buffer): Buffer {
  const decoded = Buffer.alloc(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === 0x3d) {
      const code = bytes.toString('latin1', at + 1, at + 3);
      if (/^[\da-f]{2}$/i.test(code)) {
        decoded[length++] = Number.parseInt(code, 16);
        at += 2;
        continue;
      }
      const end = lineEndAfter(bytes, at);
      if (end !== null) {
        at = end;
        continue;
      }
    }
    decoded[length++] = byte;
  }
  return decoded.subarray(0, length);
}
