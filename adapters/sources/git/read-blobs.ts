import { createHash } from 'node:crypto';
import { inflate } from 'node:zlib';
import { applyDelta } from './apply-delta.ts';
import type { ObjectFormat } from './git-client.ts';
import { packCount, packHeaderBytes, readPackEntry } from './pack-entry.ts';

/** Of a pack of several files, and of their contents together. */
export const maxBatchBytes = 16_777_216;

/**
 * The files of a pack by their id, which is computed. What exceeds the limit of bytes, is malformed, or is a delta of
 * something that stands behind it, is left out: it is read by itself.
 */
export async function readBlobs(
  pack: AsyncIterable<Uint8Array>,
  format: ObjectFormat,
): Promise<Map<string, Buffer>> {
  const whole = await collect(pack);
  const blobs = new Map<string, Buffer>();
  const byOffset = new Map<number, Buffer>();
  let left = maxBatchBytes;
  let at = packHeaderBytes;
  for (let count = packCount(whole) ?? 0; count > 0; count -= 1) {
    const entry = readPackEntry(whole, at, format.idBytes);
    if (entry === null || entry.size > left) break;
    left -= entry.size;
    const inflated = await inflateAt(whole, entry.dataAt, entry.size);
    if (inflated === null) break;
    const { base } = entry;
    const from = typeof base === 'number' ? byOffset.get(base) : base === null ? null : blobs.get(base);
    const isBlob = base === null ? entry.type === 'blob' : from !== undefined;
    const content = from == null ? inflated.data : applyDelta(from, inflated.data, left);
    if (isBlob && content !== null) {
      left -= from == null ? 0 : content.byteLength;
      byOffset.set(at, content);
      blobs.set(idOf(content, format), content);
    }
    at = inflated.next;
  }
  return blobs;
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
