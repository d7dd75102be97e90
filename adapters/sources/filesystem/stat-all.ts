import type { BigIntStats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbsent } from './file-failure.ts';
import { openBeneath } from './open-beneath.ts';

/** What stands at each of these paths that can be reached; a folder is opened once for all names in it. */
export async function statAll(
  root: string,
  paths: readonly (readonly string[])[],
): Promise<Map<readonly string[], BigIntStats>> {
  const found = new Map<readonly string[], BigIntStats>();
  for (const siblings of Map.groupBy(paths, (path) => path.slice(0, -1).join('/')).values()) {
    for (const { path, stats } of await statSiblings(root, siblings)) {
      found.set(path, stats);
    }
  }
  return found;
}

async function statSiblings(root: string, siblings: readonly (readonly string[])[]) {
  const folder = await openBeneath(root, siblings[0]?.slice(0, -1) ?? [], 'folder').catch(nullIfAbsent);
  if (folder === null) {
    return [];
  }
  // The folder stays open until all have ended: its path names it by the number of its handle, which is used again.
  const looks = await Promise.allSettled(
    siblings.map(async (path) => {
      const stats = await lstat(join(folder.path, path.at(-1) ?? '.'), { bigint: true }).catch(nullIfAbsent);
      return stats === null ? [] : [{ path, stats }];
    }),
  );
  await folder.handle.close();
  return looks.flatMap((look) => {
    if (look.status === 'rejected') throw look.reason;
    return look.value;
  });
}

function nullIfAbsent(error: unknown): null {
  if (isAbsent(error)) return null;
  throw error;
}
