import type { BigIntStats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbsent, isForbidden } from './file-failure.ts';
import { openBeneath } from './open-beneath.ts';

/**
 * What stands at each of these paths that can be reached; a folder is opened once for all names in it. One after the
 * other: on a file system that hangs each would hold a thread of the process.
 * @param onMissed called for what may not be looked at, as in a folder whose names may be read and no more
 */
export async function statAll(
  root: string,
  paths: readonly (readonly string[])[],
  onMissed: () => void,
): Promise<Map<readonly string[], BigIntStats>> {
  const found = new Map<readonly string[], BigIntStats>();
  const nullIfHidden = (error: unknown): null => {
    if (isForbidden(error)) {
      onMissed();
    } else if (!isAbsent(error)) {
      throw error;
    }
    return null;
  };
  for (const siblings of Map.groupBy(paths, (path) => path.slice(0, -1).join('/')).values()) {
    const folder = await openBeneath(root, siblings[0]?.slice(0, -1) ?? [], 'folder').catch(nullIfHidden);
    if (folder === null) {
      continue;
    }
    try {
      for (const path of siblings) {
        const stats = await lstat(join(folder.path, path.at(-1) ?? '.'), { bigint: true }).catch(
          nullIfHidden,
        );
        if (stats !== null) found.set(path, stats);
      }
    } finally {
      await folder.handle.close();
    }
  }
  return found;
}
