import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface TreeFile {
  text: string;
  /** Differs after every write. */
  stamp: string;
}

/** Files by their path. */
export type Tree = ReadonlyMap<string, TreeFile>;

/** What a folder holds, hidden files of its root aside. */
export async function readTree(root: string): Promise<Tree> {
  const tree = new Map<string, TreeFile>();
  const walk = async (folder: string): Promise<void> => {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (path.startsWith('.')) continue;
      if (entry.isDirectory()) {
        await walk(path);
        continue;
      }
      const { mtimeNs } = await stat(join(root, path), { bigint: true });
      tree.set(path, { text: await readFile(join(root, path), 'utf8'), stamp: String(mtimeNs) });
    }
  };
  await walk('');
  return tree;
}

/** Folders that hold files, at any depth. */
export function foldersOf(names: Iterable<string>): string[] {
  const folders = new Set<string>();
  for (const name of names) {
    for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', at + 1))
      folders.add(name.slice(0, at));
  }
  return [...folders];
}
