import type { FileHandle } from 'node:fs/promises';
import type { FetchInput, Fetched } from '#domain/knowledge/connectors/source.ts';
import { fileVersion } from './file-version.ts';
import { readBounded } from './read-bounded.ts';

export interface ReadOptions extends Pick<FetchInput, 'version' | 'maxBytes'> {
  signal: AbortSignal;
}

/** What stands at an opened path, which is closed afterwards. */
export async function readFile(
  handle: FileHandle,
  { version, maxBytes, signal }: ReadOptions,
): Promise<Fetched> {
  try {
    const before = await handle.stat({ bigint: true });
    if (!before.isFile()) {
      return { kind: 'gone' };
    }
    const found = fileVersion(before);
    if (version !== null && version === found) {
      return { kind: 'unchanged' };
    }
    const content =
      before.size > maxBytes
        ? null
        : await readBounded(handle, maxBytes, { size: Number(before.size), signal });
    if (content === null) {
      return { kind: 'skipped', code: 'too_large' };
    }
    // Written to while it was read: the next run reads it again.
    const isWhole = fileVersion(await handle.stat({ bigint: true })) === found;
    return { kind: 'content', content, mediaType: null, version: isWhole ? found : null };
  } finally {
    await handle.close();
  }
}
