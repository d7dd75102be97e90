import { createHash } from 'node:crypto';
import { inflate } from 'node:zlib';
import { applyDelta } from './apply-delta.ts';
import type { ObjectFormat } from './git-client.ts';
import { packCount, packHeaderBytes, readPackEntry } from './pack-entry.ts';

/** Of a pack of several files, and of their contents together. */
export const maxBatchBytes = 16_777_216;

/** What a pack was asked for. */
export interface WantedBlobs {
  ids: readonly string[];
  format: ObjectFormat;
}

/**
 * The files of a pack that were asked for, by their id, which is computed. Left out are what is a delta of something
 * that stands behind it, and all that stands behind what is malformed or exceeds the limit of bytes: that is read file
 * by file.
 */
export async function readBlobs(
  pack: AsyncIterable<Uint8Array>,
  { ids, format }: WantedBlobs,
  signal: AbortSignal,
): Promise<Map<string, Buffer>> {
  const whole = await collect(pack);
  const wanted = new Set(ids);
  const found = new Map<string, Buffer>();
  const byId = new Map<string, Buffer>();
  const byOffset = new Map<number, Buffer>();
  let left = maxBatchBytes;
  let at = packHeaderBytes;
  // No server needs more objects than that: one for each file, and a base beside it.
  let count = Math.min(packCount(whole) ?? 0, 2 * wanted.size);
  for (; count > 0 && found.size < wanted.size; count -= 1) {
    signal.throwIfAborted();
    const entry = readPackEntry(whole, at, format.idBytes);
    if (entry === null || entry.size > left) break;
    left -= entry.size;
    const inflated = await inflateAt(whole, entry.dataAt, entry.size);
    if (inflated === null) break;
    const { base } = entry;
    const from = typeof base === 'number' ? byOffset.get(base) : base === null ? null : byId.get(base);
    const isBlob = base === null ? entry.type === 'blob' : from !== undefined;
    const content = from == null ? inflated.data : applyDelta(from, inflated.data, left);
    if (content === null) break;
    if (isBlob) {
      left -= from == null ? 0 : content.byteLength;
      byOffset.set(at, content);
      const id = idOf(content, format);
      byId.set(id, content);
      if (wanted.has(id)) found.set(id, content);
    }
    at = inflated.next;
  }
  return found;
}

/** As much of a pack as the limit allows. */
async function collect(pack: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of pack) {
    length += part.byteLength;
    if (length > maxBatchBytes) break;
    parts.push(Buffer.from(part));
  }
  return Buffer.concat(parts);
}

function inflateAt(pack: Buffer, from: number, size: number): Promise<{ data: Buffer; next: number } | null> {
  return new Promise((done) => {
    const options = { info: true, maxOutputLength: Math.max(size, 1), chunkSize: 65_536 };
    // The types do not know `info`.
    inflate(pack.subarray(from), options, (error, result: unknown) => {
      const { buffer, engine } = (result ?? {}) as { buffer?: Buffer; engine?: { bytesWritten: number } };
      const isWhole = error === null && buffer?.byteLength === size && engine !== undefined;
      done(isWhole ? { data: buffer, next: from + engine.bytesWritten } : null);
    });
  });
}

function idOf(content: Buffer, { name }: ObjectFormat): string {
  return createHash(name).update(`blob ${content.byteLength}\0`).update(content).digest('hex');
}
