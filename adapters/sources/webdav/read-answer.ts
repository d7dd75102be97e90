import { TooBusy } from '#domain/foundation/kernel/fair-semaphore.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { ThreadLimitExceeded, ThreadPool } from '../../process/thread-pool.ts';
import type { DavResponse } from './multistatus.ts';
import read from './multistatus-thread.ts';

/** A longer answer would hold the event loop for too long. */
const maxInlineBytes = 262_144;

let threads: ThreadPool<{ xml: Uint8Array }, DavResponse[] | null> | null = null;

function pool() {
  threads ??= new ThreadPool(new URL('./multistatus-thread.ts', import.meta.url), {
    threads: 2,
    timeoutMs: 30_000,
    heapMb: 256,
    waitersPerKey: 100,
    waitMs: 60_000,
  });
  return threads;
}

/** @throws SourceFailure for an answer that is malformed or takes too long to read */
export async function readAnswer(
  xml: Uint8Array,
  tenantId: string,
  signal: AbortSignal,
): Promise<DavResponse[]> {
  const responses =
    xml.byteLength <= maxInlineBytes
      ? read({ xml })
      : await pool()
          .run(tenantId, () => ({ xml }), signal)
          .catch((error: unknown) => {
            throw threadFailure(error);
          });
  if (responses === null) {
    throw new SourceFailure('source_invalid', 'The server answers with a malformed list of files.');
  }
  return responses;
}

function threadFailure(error: unknown): unknown {
  if (error instanceof TooBusy) {
    return new SourceFailure('source_unreachable', 'Too many lists of files are being read at once.');
  }
  return error instanceof ThreadLimitExceeded
    ? new SourceFailure('source_invalid', `A list of files exceeds a limit of ${error.limit}.`)
    : error;
}
