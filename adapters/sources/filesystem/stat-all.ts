import type { BigIntStats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbsent } from './file-failure.ts';
import { openBeneath } from './open-beneath.ts';

/**
 * What stands at each of these paths that can be reached; a folder is opened once for all names in it. One after the
 * other: on a file system that hangs each would hold a thread of the process.
 */
export async function statAll(
  root: string,
  paths: readonly (readonly string[])[],
): Promise<Map<readonly string[], BigIntStats>> {
  const found = new Map<readonly string[], BigIntStats>();
  for (const siblings of Map.groupBy(paths, (path) => path.slice(0, -1).join('/')).values()) {
    const folder = await openBeneath(root, siblings[0]?.slice(0, -1) ?? [], 'folder').catch(nullIfAbsent);
    if (folder === null) {
      continue;
    }
    try {
      for (const path of siblings) {
        const stats = await lstat(join(folder.path, path.at(-1) ?? '.'), { bigint: true }).catch(
          nullIfAbsent,
        );
        if (stats !== null) found.set(path, stats);
      }
    } finally {
      await folder.handle.close();
    }
  }
  return found;
}

function nullIfAbsent(error: unknown): null {
  if (isAbsent(error)) return null;
  throw error;
}
