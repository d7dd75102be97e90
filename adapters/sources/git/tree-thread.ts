import { fileFilter, type PathPatterns } from '../shared/path-patterns.ts';
import { packFileList, type FileListData } from './file-list.ts';
import type { ObjectFormat } from './git-client.ts';
import { readPack } from './read-pack.ts';
import { walkTrees, type Walked } from './walk-trees.ts';

export interface TreeTask {
  pack: Uint8Array;
  commit: string;
  format: ObjectFormat;
  path: string;
  patterns: PathPatterns;
}

export type TreeFailure = Extract<Walked, { failed: unknown }>['failed'];

const limits = { inflatedBytes: 512 * 1_048_576, files: 200_000, entries: 2_000_000 };

/** Lists the files of a commit, in a thread. */
export default function listFiles(task: TreeTask): FileListData | { failed: TreeFailure } {
  const { pack, commit, format, path, patterns } = task;
  const objects = readPack(Buffer.from(pack.buffer, pack.byteOffset, pack.byteLength), format, limits);
  if (objects === null) {
    return { failed: 'malformed' };
  }
  const walked = walkTrees(commit, path, {
    objects,
    idBytes: format.idBytes,
    limits,
    fits: fileFilter(patterns),
  });
  return 'failed' in walked ? walked : packFileList(walked.files, format.idBytes);
}
