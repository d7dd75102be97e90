import { TooBusy } from '#domain/foundation/kernel/fair-semaphore.ts';
import { ThreadLimitExceeded, ThreadPool, type ThreadLimits } from '#adapters/process/thread-pool.ts';
import {
  ExtractionFailure,
  ExtractorBusy,
  type DocumentContent,
  type DocumentExtractor,
  type ExtractedDocument,
} from '#domain/knowledge/ingestion/document-extractor.ts';

/** Waiting and extraction together stay below the activity's timeout. */
const defaults: ThreadLimits = { timeoutMs: 45_000, heapMb: 256, waitersPerKey: 2, waitMs: 60_000 };

/** Extracts plain text, markdown and HTML in threads; of HTML the main content, as markdown. */
export function createTextExtractor(limits: Partial<ThreadLimits> = {}): DocumentExtractor {
  const pool = new ThreadPool<DocumentContent, ExtractedDocument | null>(
    new URL('./extraction-thread.ts', import.meta.url),
    { ...defaults, ...limits },
  );
  return {
    async extract(source, signal) {
      const extracted = await pool
        .run(source.tenantId, () => source.read(), signal)
        .catch((error: unknown) => {
          throw toFailure(error);
        });
      if (extracted === null) {
        throw new ExtractionFailure('malformed');
      }
      return extracted;
    },
  };
}

function toFailure(error: unknown): unknown {
  if (error instanceof TooBusy) {
    return new ExtractorBusy();
  }
  return error instanceof ThreadLimitExceeded
    ? new ExtractionFailure(error.limit === 'time' ? 'too_slow' : 'too_large')
    : error;
}
