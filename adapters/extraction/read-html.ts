import { Worker } from 'node:worker_threads';
import { ExtractionFailure } from '#domain/knowledge/document-extractor.ts';

export interface HtmlLimits {
  timeoutMs: number;
  heapMb: number;
}

/** The main text of a page as markdown. */
export async function readHtml(html: string, limits: HtmlLimits, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const worker = new Worker(new URL('./html-worker.ts', import.meta.url), {
    workerData: html,
    resourceLimits: { maxOldGenerationSizeMb: limits.heapMb },
    env: {},
    stdout: true,
    stderr: true,
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const timer = setTimeout(() => reject(new ExtractionFailure('too_slow')), limits.timeoutMs);
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  worker.once('message', resolve);
  worker.once('error', (error) =>
    reject(new ExtractionFailure(isOutOfMemory(error) ? 'too_large' : 'unreadable')),
  );
  worker.once('exit', () => reject(new ExtractionFailure('unreadable')));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    await worker.terminate();
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
