import { TooManyBytes } from './byte-store.ts';

/** Bytes in one row of content. */
export const partBytes = 262_144;

/**
 * Splits the stream into parts of one size, the last one shorter; buffers at most one part. @throws `TooManyBytes`
 */
export async function* inParts(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let part = new Uint8Array(partBytes);
  let filled = 0;
  let total = 0;
  for await (const piece of source) {
    total += piece.byteLength;
    if (total > maxBytes) {
      throw new TooManyBytes(maxBytes);
    }
    for (let from = 0; from < piece.byteLength;) {
      const taken = piece.subarray(from, from + partBytes - filled);
      part.set(taken, filled);
      filled += taken.byteLength;
      from += taken.byteLength;
      if (filled === partBytes) {
        yield part;
        part = new Uint8Array(partBytes);
        filled = 0;
      }
    }
  }
  if (filled > 0) {
    yield part.subarray(0, filled);
  }
}

/** Reads a whole stream into a new buffer; the caller bounds its size. */
export async function readAll(source: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of source) {
    parts.push(part);
    size += part.byteLength;
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}
