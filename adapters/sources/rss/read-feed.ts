import { TooBusy } from '#domain/foundation/kernel/fair-semaphore.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { ThreadLimitExceeded, ThreadPool } from '../../process/thread-pool.ts';
import type { ReadFeed } from './feed-entries.ts';

/** Reading a feed of several megabytes takes seconds. */
const threads = new ThreadPool<Uint8Array, ReadFeed | null>(new URL('./feed-thread.ts', import.meta.url), {
  threads: 2,
  timeoutMs: 30_000,
  heapMb: 256,
  waitersPerKey: 16,
  waitMs: 60_000,
});

/** @throws SourceFailure for what is no feed, or takes too much time or memory */
export async function readFeed(
  tenantId: string,
  content: Uint8Array,
  signal: AbortSignal,
): Promise<ReadFeed> {
  const feed = await threads
    .run(tenantId, () => content, signal)
    .catch((error: unknown) => {
      if (error instanceof ThreadLimitExceeded) {
        throw new SourceFailure('source_invalid', 'A feed takes too much time or memory to read.');
      }
      throw error instanceof TooBusy
        ? new SourceFailure('source_unreachable', 'Too many feeds are being read at once.')
        : error;
    });
  if (feed === null) {
    throw new SourceFailure('source_invalid', 'A feed address answers with something that is no valid feed.');
  }
  return feed;
}
