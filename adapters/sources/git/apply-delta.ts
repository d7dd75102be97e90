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
  const instructions = delta.subarray(target.next);
  // Nothing is allocated for what a delta claims alone: its instructions must make it.
  let length = 0;
  const isWhole = follow(base, instructions, (_, from, to) => (length += to - from) <= target.value);
  if (!isWhole || length !== target.value) {
    return null;
  }
  const result = Buffer.alloc(length);
  let at = 0;
  follow(base, instructions, (bytes, from, to) => {
    at += bytes.copy(result, at, from, to);
    return true;
  });
  return result;
}

/**
 * @param take gets each part of the result: bytes of the base or of the instructions, from and to a place
 * @returns false where an instruction is malformed, or `take` wants no more
 */
function follow(
  base: Buffer,
  instructions: Buffer,
  take: (bytes: Buffer, from: number, to: number) => boolean,
): boolean {
  for (let at = 0; at < instructions.byteLength;) {
    const code = instructions[at] ?? 0;
    at += 1;
    if ((code & 0x80) === 0) {
      const end = at + code;
      if (code === 0 || end > instructions.byteLength || !take(instructions, at, end)) return false;
      at = end;
      continue;
    }
    let [offset, length] = [0, 0];
    for (let bit = 0; bit < 7; bit += 1) {
      if ((code & (1 << bit)) === 0) continue;
      const byte = instructions[at] ?? 0;
      at += 1;
      if (bit < 4) offset += byte * 2 ** (8 * bit);
      else length += byte * 2 ** (8 * (bit - 4));
    }
    length ||= 0x1_00_00;
    if (offset + length > base.byteLength || !take(base, offset, offset + length)) return false;
  }
  return true;
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
