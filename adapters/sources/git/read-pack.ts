import { createHash } from 'node:crypto';
import { inflateSync } from 'node:zlib';
import { applyDelta } from './apply-delta.ts';
import type { ObjectFormat } from './git-client.ts';
import { packCount, packHeaderBytes, readPackEntry } from './pack-entry.ts';

interface GitObject {
  type: 'commit' | 'tree' | 'other';
  data: Buffer;
}

export interface PackLimits {
  /** Of all objects together, after inflation. */
  inflatedBytes: number;
}

/**
 * The commits and trees of a pack by their id, which is computed, so that nothing in the pack can take another's place.
 * The contents of files are passed over.
 * @returns null for a pack that is malformed or exceeds a limit
 */
export function readPack(
  pack: Buffer,
  format: ObjectFormat,
  limits: PackLimits,
): ReadonlyMap<string, GitObject> | null {
  const objects = new Map<string, GitObject>();
  const byOffset = new Map<number, GitObject>();
  const waiting: { base: string; delta: Buffer; at: number }[] = [];
  let left = limits.inflatedBytes;
  const keep = (at: number, object: GitObject) => {
    byOffset.set(at, object);
    if (object.type !== 'other') objects.set(idOf(object, format), object);
  };
  const derive = (at: number, base: GitObject, delta: Buffer): boolean => {
    if (base.type === 'other') {
      byOffset.set(at, base);
      return true;
    }
    const data = applyDelta(base.data, delta, left);
    if (data === null) return false;
    left -= data.byteLength;
    keep(at, { type: base.type, data });
    return true;
  };
  let at = packHeaderBytes;
  for (let count = packCount(pack) ?? -1; count !== 0; count -= 1) {
    const entry = count < 0 ? null : readPackEntry(pack, at, format.idBytes);
    if (entry === null || entry.size > left) return null;
    left -= entry.size;
    const inflated = inflateAt(pack, entry.dataAt, entry.size);
    if (inflated === null) return null;
    if (entry.base === null) {
      const isKept = entry.type === 'commit' || entry.type === 'tree';
      const empty = { type: 'other', data: Buffer.alloc(0) } as const;
      keep(at, isKept ? { type: entry.type as 'commit' | 'tree', data: inflated.data } : empty);
    } else {
      const base =
        typeof entry.base === 'number' ? byOffset.get(entry.base) : (objects.get(entry.base) ?? null);
      if (base === undefined) return null;
      if (base === null) waiting.push({ base: String(entry.base), delta: inflated.data, at });
      else if (!derive(at, base, inflated.data)) return null;
    }
    at = inflated.next;
  }
  return deriveWaiting(waiting, objects, derive) ? objects : null;
}

/** Bases may stand behind what is made from them. What has none is of a file's content, which is not kept. */
function deriveWaiting(
  waiting: readonly { base: string; delta: Buffer; at: number }[],
  objects: ReadonlyMap<string, GitObject>,
  derive: (at: number, base: GitObject, delta: Buffer) => boolean,
): boolean {
  let rest = waiting;
  for (let before = -1; rest.length !== before;) {
    before = rest.length;
    const later = [];
    for (const each of rest) {
      const base = objects.get(each.base);
      if (base === undefined) later.push(each);
      else if (!derive(each.at, base, each.delta)) return false;
    }
    rest = later;
  }
  return true;
}

function inflateAt(pack: Buffer, from: number, size: number): { data: Buffer; next: number } | null {
  try {
    const { buffer, engine } = inflateSync(pack.subarray(from), {
      info: true,
      maxOutputLength: Math.max(size, 1),
      chunkSize: Math.min(Math.max(size + 1, 64), 65_536),
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } };
    return buffer.byteLength === size ? { data: buffer, next: from + engine.bytesWritten } : null;
  } catch {
    return null;
  }
}

function idOf({ type, data }: GitObject, format: ObjectFormat): string {
  return createHash(format.name).update(`${type} ${data.byteLength}\0`).update(data).digest('hex');
}
