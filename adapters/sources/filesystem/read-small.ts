import type { Fetched } from '#domain/knowledge/connectors/source.ts';
import { isAbsent, isForbidden } from './file-failure.ts';
import { openBeneath, openIn } from './open-beneath.ts';
import { readFile } from './read-file.ts';

export type ReadContent = Extract<Fetched, { kind: 'content' }>;

/** A larger file is read when it is fetched. */
const maxFileBytes = 262_144;
/** Of one call; what is left is read when it is fetched. */
const maxBytes = 8_388_608;

/**
 * The contents of small files; a folder is opened once for all of its files. One file after the other: on a file system
 * that hangs each would hold a thread of the process.
 */
export async function readSmall(
  root: string,
  paths: readonly (readonly string[])[],
  signal: AbortSignal,
): Promise<Map<readonly string[], ReadContent>> {
  const read = new Map<readonly string[], ReadContent>();
  let bytes = 0;
  for (const siblings of Map.groupBy(paths, (path) => path.slice(0, -1).join('/')).values()) {
    await leaveOut(async () => {
      const folder = await openBeneath(root, siblings[0]?.slice(0, -1) ?? [], 'folder');
      try {
        for (const path of siblings) {
          if (bytes >= maxBytes) return;
          await leaveOut(async () => {
            const { handle } = await openIn(folder, path.at(-1) ?? '.', 'file');
            const file = await readFile(handle, { version: null, maxBytes: maxFileBytes, signal });
            if (file.kind === 'content') {
              bytes += file.content.byteLength;
              read.set(path, file);
            }
          });
        }
      } finally {
        await folder.handle.close();
      }
    });
  }
  return read;
}

/** Fetching a file says why it cannot be read. */
async function leaveOut(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isAbsent(error) && !isForbidden(error)) throw error;
  }
}
