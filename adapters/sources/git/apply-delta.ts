/**
 * Applies a delta of a pack to its base.
 * @returns null for a delta that is malformed, or whose result is longer than `maxBytes`
 */
export function applyDelta(base: Buffer, delta: Buffer, maxBytes: number): Buffer | null {
  const source = readVarint(delta, 0);
  const target = readVarint(delta, source.next);
  if (source.value !== base.byteLength || target.value > maxBytes) {
    return null;
  }
  const result = Buffer.alloc(target.value);
  let [at, written] = [target.next, 0];
  while (at < delta.byteLength) {
    const code = delta[at] ?? 0;
    at += 1;
    let part: Buffer;
    if ((code & 0x80) === 0) {
      part = delta.subarray(at, at + code);
      if (code === 0 || part.byteLength !== code) return null;
      at += code;
    } else {
      let [offset, length] = [0, 0];
      for (let bit = 0; bit < 7; bit += 1) {
        if ((code & (1 << bit)) === 0) continue;
        const byte = delta[at] ?? 0;
        at += 1;
        if (bit < 4) offset += byte * 2 ** (8 * bit);
        else length += byte * 2 ** (8 * (bit - 4));
      }
      length ||= 0x1_00_00;
      part = base.subarray(offset, offset + length);
      if (part.byteLength !== length) return null;
    }
    if (written + part.byteLength > result.byteLength) return null;
    part.copy(result, written);
    written += part.byteLength;
  }
  return written === result.byteLength ? result : null;
}

/** Little-endian groups of seven bits. */
export function readVarint(bytes: Buffer, from: number): { value: number; next: number } {
  let [value, factor, at] = [0, 1, from];
  for (; at < bytes.byteLength && at < from + 7; at += 1) {
    const byte = bytes[at] ?? 0;
    value += (byte & 0x7f) * factor;
    factor *= 128;
    if ((byte & 0x80) === 0) return { value, next: at + 1 };
  }
  return { value: Number.POSITIVE_INFINITY, next: at };
}
