/** The head of one object in a pack. */
export interface PackEntry {
  type: 'commit' | 'tree' | 'blob' | 'tag' | 'offset_delta' | 'id_delta';
  /** Bytes after inflation. */
  size: number;
  /** Of the base: where in the pack it begins, or its id in hexadecimal. */
  base: number | string | null;
  /** Where the deflated data begins. */
  dataAt: number;
}

const types = new Map<number, PackEntry['type']>([
  [1, 'commit'],
  [2, 'tree'],
  [3, 'blob'],
  [4, 'tag'],
  [6, 'offset_delta'],
  [7, 'id_delta'],
]);

export const packHeaderBytes = 12;
/** Enough for the head of any object. */
export const maxEntryHeadBytes = 48;

/** The number of objects of a pack; null: this is none. */
export function packCount(pack: Buffer): number | null {
  const known =
    pack.byteLength >= packHeaderBytes &&
    pack.toString('latin1', 0, 4) === 'PACK' &&
    [2, 3].includes(pack.readUInt32BE(4));
  return known ? pack.readUInt32BE(8) : null;
}

/** @returns null for what is no head of an object */
export function readPackEntry(pack: Buffer, from: number, idBytes: number): PackEntry | null {
  let [at, byte] = [from, pack[from] ?? 0];
  const type = types.get((byte >> 4) & 7);
  let [size, factor] = [byte & 15, 16];
  while ((byte & 0x80) !== 0) {
    at += 1;
    byte = pack[at] ?? 0;
    size += (byte & 0x7f) * factor;
    factor *= 128;
    if (at - from > 7) return null;
  }
  at += 1;
  if (type === undefined || at > pack.byteLength) return null;
  if (type === 'id_delta') {
    return { type, size, base: pack.toString('hex', at, at + idBytes), dataAt: at + idBytes };
  }
  if (type !== 'offset_delta') return { type, size, base: null, dataAt: at };
  byte = pack[at] ?? 0;
  let distance = byte & 0x7f;
  const begin = at;
  while ((byte & 0x80) !== 0) {
    at += 1;
    byte = pack[at] ?? 0;
    distance = (distance + 1) * 128 + (byte & 0x7f);
    if (at - begin > 6) return null;
  }
  return { type, size, base: from - distance, dataAt: at + 1 };
}
