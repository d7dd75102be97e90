import { fileKind, submoduleKind, type ListedFile } from './file-list.ts';

type Objects = ReadonlyMap<string, { type: string; data: Buffer }>;

export interface WalkLimits {
  /** Of files that are listed. */
  files: number;
  /** Of entries that are looked at: a tree can name another one many times. */
  entries: number;
}

export type Walked =
  | { files: ListedFile[] }
  | { failed: 'no_path' | 'too_many_files' | 'too_many_entries' | 'malformed' };

interface Walk {
  objects: Objects;
  idBytes: number;
  limits: WalkLimits;
  fits: (path: string) => boolean;
}

const maxDepth = 128;
/** A longer one cannot be a document's reference. */
const maxPathBytes = 2_000;
const treeMode = '40000';
const submoduleMode = '160000';
/** Plain and executable files, and those of early versions of git. Symbolic links are not followed. */
const fileModes = new Set(['100644', '100755', '100664']);

/** The files below `path` of a commit that `fits` accepts by their path below it. */
export function walkTrees(commit: string, path: string, walk: Walk): Walked {
  const { objects, idBytes, limits, fits } = walk;
  const root = /^tree ([0-9a-f]+)\n/.exec(objects.get(commit)?.data.toString('latin1', 0, 80) ?? '')?.[1];
  let tree = root;
  for (const segment of path === '' ? [] : path.split('/')) {
    const entries = entriesOf(objects, tree, idBytes);
    if (entries === null) return { failed: 'malformed' };
    tree = entries.find(({ name, mode }) => name === segment && mode === treeMode)?.id;
    if (tree === undefined) return { failed: 'no_path' };
  }
  const files: ListedFile[] = [];
  const pending = [{ tree, prefix: path === '' ? '' : `${path}/`, depth: 0 }];
  let seen = 0;
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const entries = entriesOf(objects, folder.tree, idBytes);
    if (entries === null || folder.depth > maxDepth) return { failed: 'malformed' };
    for (const { mode, name, id } of entries) {
      if ((seen += 1) > limits.entries) return { failed: 'too_many_entries' };
      const full = folder.prefix + name;
      if (Buffer.byteLength(full) > maxPathBytes) continue;
      if (mode === treeMode) {
        pending.push({ tree: id, prefix: `${full}/`, depth: folder.depth + 1 });
      } else if (
        (fileModes.has(mode) || mode === submoduleMode) &&
        fits(path === '' ? full : full.slice(path.length + 1))
      ) {
        if (files.length >= limits.files) return { failed: 'too_many_files' };
        files.push({ path: full, id, kind: mode === submoduleMode ? submoduleKind : fileKind });
      }
    }
  }
  return { files };
}

interface TreeEntry {
  mode: string;
  name: string;
  id: string;
}

function entriesOf(objects: Objects, id: string | undefined, idBytes: number): TreeEntry[] | null {
  const tree = objects.get(id ?? '');
  if (tree?.type !== 'tree') return null;
  const { data } = tree;
  const entries: TreeEntry[] = [];
  for (let at = 0; at < data.byteLength;) {
    const space = data.indexOf(0x20, at);
    const end = data.indexOf(0, at);
    if (space === -1 || end < space || end + 1 + idBytes > data.byteLength) return null;
    entries.push({
      mode: data.toString('latin1', at, space).replace(/^0+/, ''),
      name: nameOf(data.subarray(space + 1, end)),
      id: data.toString('hex', end + 1, end + 1 + idBytes),
    });
    at = end + 1 + idBytes;
  }
  return entries;
}

/** Git's names are bytes; what is no UTF-8 is written as `\xNN`, so that different names stay different. */
function nameOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.includes('\uFFFD') && !Buffer.from(text).equals(bytes)
    ? [...bytes].map((byte) => (byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16)}`)).join('')
    : text;
}
