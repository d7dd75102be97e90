import type { FileHandle } from 'node:fs/promises';

const part = 1_048_576;

/** The content of a file; null where it has more than `maxBytes`, of which no more is read. */
export async function readBounded(
  handle: FileHandle,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Uint8Array | null> {
  const parts: Buffer[] = [];
  for (let length = 0; ;) {
    signal?.throwIfAborted();
    const buffer = Buffer.allocUnsafeSlow(Math.min(part, maxBytes + 1 - length));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, length);
    if (bytesRead === 0) {
      return Buffer.concat(parts, length);
    }
    length += bytesRead;
    if (length > maxBytes) {
      return null;
    }
    parts.push(buffer.subarray(0, bytesRead));
  }
}
