import { decodeBytes } from '#domain/foundation/kernel/decode-bytes.ts';

const contentType = /^content-type:[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*/gim;
const ascii = /(charset\s*=\s*"?)(?:us-)?ascii\b/i;
const korean = /(charset\s*=\s*"?)iso-2022-kr\b/i;
/** Bytes beyond ASCII of a text that is written as quoted-printable, and ends of its lines. */
const quotedByte = /=([89a-f][0-9a-f])|=\r?\n/gi;

/**
 * A message whose parts say which encoding their bytes really have: many programs declare ASCII for UTF-8, and readers
 * do not know all encodings. In time that grows with the message.
 */
export function withKnownCharsets(message: Uint8Array): Uint8Array {
  const text = Buffer.from(message.buffer, message.byteOffset, message.byteLength).toString('latin1');
  const types = text.match(contentType) ?? [];
  if (types.some((type) => ascii.test(type)) && isUtf8(text)) {
    return Buffer.from(
      text.replace(contentType, (type) => type.replace(ascii, '$1utf-8')),
      'latin1',
    );
  }
  if (types.some((type) => korean.test(type)) && text.includes('\u001B$)C')) {
    const renamed = text.replace(contentType, (type) => type.replace(korean, '$1utf-8'));
    return Buffer.from(decodeBytes(Buffer.from(renamed, 'latin1'), 'iso-2022-kr'));
  }
  return message;
}

/** Whether the bytes beyond ASCII, of which there are some, are UTF-8. */
function isUtf8(text: string): boolean {
  const whole = text.replace(quotedByte, (_, byte: string | undefined) =>
    byte === undefined ? '' : String.fromCharCode(Number.parseInt(byte, 16)),
  );
  if (!/[\u0080-\u00FF]/.test(whole)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(whole, 'latin1'));
    return true;
  } catch {
    return false;
  }
}
