import { LRUCache } from 'lru-cache';
import { TooBusy } from '#domain/foundation/kernel/fair-semaphore.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { ThreadLimitExceeded, ThreadPool } from '../../process/thread-pool.ts';
import type { SourceAccess } from '../provider.ts';
import { FileList, type FileListData } from './file-list.ts';
import type { GitClient } from './git-client.ts';
import type { GitScope } from './scope.ts';
import type { TreeFailure, TreeTask } from './tree-thread.ts';

/** Of the commit and all its trees; with the contents of all files where the server cannot leave them out. */
const maxPackBytes = 64 * 1_048_576;

/** Lists of files by connector, scope and commit, so that a source that is opened again does not fetch them again. */
const kept = new LRUCache<string, FileList>({
  maxSize: 128 * 1_048_576,
  maxEntrySize: 64 * 1_048_576,
  sizeCalculation: (list) => list.byteLength + 1_000,
  ttl: 3_600_000,
});

let threads: ThreadPool<TreeTask, FileListData | { failed: TreeFailure }> | null = null;

/** A pack is held only during a turn, which bounds the memory of all of them. */
function pool() {
  threads ??= new ThreadPool(new URL('./tree-thread.ts', import.meta.url), {
    threads: 2,
    timeoutMs: 60_000,
    heapMb: 512,
    waitersPerKey: 100,
    waitMs: 120_000,
  });
  return threads;
}

/**
 * The files of a commit within the scope.
 * @throws ObjectMissing where the server does not have it any more
 */
export async function filesOf(
  commit: string,
  { client, scope, use }: { client: GitClient; scope: GitScope; use: SourceAccess['use'] },
  signal: AbortSignal,
): Promise<FileList> {
  const key = JSON.stringify([use.tenantId, use.connectorId, scope, commit]);
  const known = kept.get(key);
  if (known !== undefined) {
    return known;
  }
  const { path, include, exclude } = scope;
  const format = await client.format(signal);
  const result = await pool()
    .run(
      use.tenantId,
      async () => ({
        pack: await collect(client.treePack(commit, signal)),
        commit,
        format,
        path,
        patterns: { include, exclude },
      }),
      signal,
    )
    .catch((error: unknown) => {
      throw threadFailure(error);
    });
  if ('failed' in result) {
    throw treeFailures[result.failed]();
  }
  const list = new FileList(result);
  kept.set(key, list);
  return list;
}

async function collect(pack: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of pack) {
    length += part.byteLength;
    if (length > maxPackBytes) {
      throw new SourceFailure(
        'source_invalid',
        'The trees of the branch exceed 64 MiB, or the server cannot leave out the contents of files (uploadpack.allowFilter).',
      );
    }
    // A copy: a part is a view of the chunk that was received.
    parts.push(Uint8Array.from(part));
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

function threadFailure(error: unknown): unknown {
  if (error instanceof TooBusy) {
    return new SourceFailure('source_unreachable', 'Too many repositories are being read at once.');
  }
  return error instanceof ThreadLimitExceeded
    ? new SourceFailure('source_invalid', `The trees of the branch exceed a limit of ${error.limit}.`)
    : error;
}

const treeFailures: Record<TreeFailure, () => SourceFailure> = {
  no_path: () => new SourceFailure('scope_invalid', 'The branch has no folder of this path.'),
  too_many_files: () =>
    new SourceFailure('scope_invalid', 'The scope has more than 200,000 files: name a folder or patterns.'),
  too_many_entries: () =>
    new SourceFailure('source_invalid', 'The trees of the branch have more than 2,000,000 entries.'),
  malformed: () => new SourceFailure('source_invalid', 'The objects of the repository are malformed.'),
};
