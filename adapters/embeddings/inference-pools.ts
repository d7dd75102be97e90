import { TooBusy } from '#domain/foundation/kernel/fair-semaphore.ts';
import { EmbeddingFailure } from '#domain/knowledge/embeddings/embedder.ts';
import { ChildLimitExceeded, ChildLost } from '../process/child-task.ts';
import { onceMore } from '../process/once-more.ts';
import { ThreadPool, type ThreadPoolOptions } from '../process/thread-pool.ts';
import type { BuiltinModel } from './builtin-model.ts';
import { builtinPackage } from './builtin-package.ts';
import { disableTelemetry } from './disable-telemetry.ts';
import type { Inference, InferenceTask } from './inference-thread.ts';
import type { VectorProcesses } from './vector-processes.ts';

/** Embeds one text at its turn: tenants take turns text by text. */
export type Infer = (tenantId: string, text: string, signal: AbortSignal) => Promise<Inferred>;

export interface Inferred {
  vector: Float32Array;
  tokens: number;
}

/** At normal priority and in a thread of its own: somebody waits for the answer. */
const forQueries: ThreadPoolOptions = {
  /** A text takes tens of milliseconds. */
  timeoutMs: 20_000,
  heapMb: 96,
  idleMs: 60_000,
  finishesTasks: true,
  threads: 1,
  threadsPerKey: 1,
  politeness: 0,
  waitersPerKey: 20,
  waitMs: 4_000,
};

const busyRetryMs = 5_000;

type Run = (tenantId: string, make: () => InferenceTask, signal: AbortSignal) => Promise<Inference>;

/** Runs the builtin model: for passages in the processes, and for queries in a thread of this process. */
export function createInference(
  model: BuiltinModel,
  processes: VectorProcesses,
): Record<'passage' | 'query', Infer> {
  // For the thread, whose runtime sees the environment of the process and not the thread's copy.
  disableTelemetry();
  const threads = new ThreadPool<InferenceTask, Inference>(
    new URL('./inference-thread.ts', import.meta.url),
    forQueries,
  );
  return {
    passage: inferBy(
      model,
      // Another process tries the text: the first may have failed for another reason.
      (tenantId, make, signal) => {
        const request = () => ({ kind: 'infer' as const, task: make() });
        return onceMore(
          async () => ownCopy(await processes.run<'infer'>(tenantId, request, signal)),
          failsByText,
        );
      },
    ),
    query: inferBy(model, (tenantId, make, signal) => threads.run(tenantId, make, signal)),
  };
}

/** What arrives is a view of the whole message. */
const ownCopy = (inference: Inference): Inference =>
  'vector' in inference ? { ...inference, vector: inference.vector.slice() } : inference;

/** V8 and C++ abort when memory ends; other crashes are signals of faults. */
const failsByText = (error: unknown): boolean =>
  (error instanceof ChildLost && error.crashed) ||
  (error instanceof ChildLimitExceeded && error.limit === 'memory');

function inferBy(model: BuiltinModel, run: Run): Infer {
  return async (tenantId, text, signal) => {
    const task = () => ({ files: model.files(), text, maxTokens: builtinPackage.maxTokens });
    const inference = await run(tenantId, task, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      if (error instanceof ChildLost || error instanceof ChildLimitExceeded) model.processLost(error.message);
      throw toFailure(error);
    });
    signal.throwIfAborted();
    if ('failed' in inference) {
      throw new EmbeddingFailure('malformed');
    }
    if ('fault' in inference) {
      model.broken(inference.fault, inference.detail);
      throw new EmbeddingFailure('unavailable');
    }
    if (!isVector(inference.vector)) {
      throw new EmbeddingFailure('malformed');
    }
    model.works();
    return inference;
  };
}

function toFailure(error: unknown): EmbeddingFailure {
  if (error instanceof EmbeddingFailure) {
    return error;
  }
  if (error instanceof TooBusy) {
    return new EmbeddingFailure('rate_limited', busyRetryMs);
  }
  return new EmbeddingFailure(failsByText(error) ? 'malformed' : 'unavailable');
}

const isVector = (vector: unknown): boolean =>
  vector instanceof Float32Array && vector.length === builtinPackage.dims && vector.every(Number.isFinite);
