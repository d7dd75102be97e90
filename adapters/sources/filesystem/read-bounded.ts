import type { FileHandle } from 'node:fs/promises';

const part = 1_048_576;
/** Beyond the expected end, where a file has grown, or where nothing is left. */
const tail = 4_096;

/**
 * The content of a file; null where it has more than `maxBytes`, of which no more is read.
 * @param size as the system says it: memory is not taken for more, and where the file ends there it is not asked again
 */
export async function readBounded(
  handle: FileHandle,
  maxBytes: number,
  { size = part, signal }: { size?: number; signal?: AbortSignal } = {},
): Promise<Uint8Array | null> {
  const parts: Buffer[] = [];
  for (let length = 0; ;) {
    signal?.throwIfAborted();
    const expected = Math.max(size - length, 0) + tail;
    const buffer = Buffer.allocUnsafeSlow(Math.min(part, maxBytes + 1 - length, expected));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, length);
    if (bytesRead === 0) {
      return Buffer.concat(parts, length);
    }
    length += bytesRead;
    if (length > maxBytes) {
      return null;
    }
    parts.push(buffer.subarray(0, bytesRead));
    if (length === size && bytesRead < buffer.length) {
      return Buffer.concat(parts, length);
    }
  }
}
