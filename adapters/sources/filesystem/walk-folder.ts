import { opendir } from 'node:fs/promises';
import { openBeneath } from './open-beneath.ts';
import { isAbsent, isForbidden } from './file-failure.ts';

export interface Visited {
  segments: string[];
  isFile: boolean;
}

export interface Walk {
  root: string;
  /** Whether a folder is entered. */
  enters(segments: readonly string[]): boolean;
  /** Called where something could not be read. */
  onMissed(): void;
}

const maxDepth = 64;
/** Names are sorted in memory. */
const maxEntries = 100_000;

/**
 * Everything below a folder, depth first in the order of names: what exists all the time is visited once, whatever is
 * added or removed meanwhile.
 * @param after continues behind this entry
 */
export async function* walkFolder(
  walk: Walk,
  folder: readonly string[],
  after: readonly string[] | null,
): AsyncGenerator<Visited> {
  const [first, ...rest] = after ?? [];
  for (const { name, isFile, isFolder } of await readFolder(walk, folder)) {
    if (first !== undefined && name < first) {
      continue;
    }
    const segments = [...folder, name];
    if (name !== first) {
      yield { segments, isFile };
    }
    if (isFolder && walk.enters(segments)) {
      if (segments.length > maxDepth) {
        walk.onMissed();
      } else {
        yield* walkFolder(walk, segments, name === first && rest.length > 0 ? rest : null);
      }
    }
  }
}

interface Entry {
  name: string;
  isFile: boolean;
  isFolder: boolean;
}

/** Symbolic links, special files and names that are not UTF-8 are ignored. */
async function readFolder(walk: Walk, folder: readonly string[]): Promise<Entry[]> {
  const entries: Entry[] = [];
  try {
    const { handle, path } = await openBeneath(walk.root, folder, 'folder');
    try {
      // Names as bytes, which the types do not offer: a name that is not UTF-8 cannot be opened by its text.
      const encoding = 'buffer' as BufferEncoding;
      for await (const entry of await opendir(path, { encoding, bufferSize: 256 })) {
        const name = decode(entry.name as unknown as Buffer);
        if (name !== null && (entry.isFile() || entry.isDirectory())) {
          entries.push({ name, isFile: entry.isFile(), isFolder: entry.isDirectory() });
        }
        if (entries.length === maxEntries) {
          walk.onMissed();
          break;
        }
      }
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (isForbidden(error)) {
      walk.onMissed();
    } else if (!isAbsent(error)) {
      throw error;
    }
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(name: Buffer): string | null {
  try {
    return utf8.decode(name);
  } catch {
    return null;
  }
}
