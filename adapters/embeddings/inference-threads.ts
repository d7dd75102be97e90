import { availableParallelism } from 'node:os';
import { TooBusy } from '#domain/foundation/kernel/fair-semaphore.ts';
import { EmbeddingFailure } from '#domain/knowledge/embeddings/embedder.ts';
import { ThreadLimitExceeded, ThreadPool, type ThreadPoolOptions } from '../process/thread-pool.ts';
import type { BuiltinModel } from './builtin-model.ts';
import { builtinPackage } from './builtin-package.ts';
import type { Inference, InferenceTask } from './inference-thread.ts';

/** Embeds one text at its turn: tenants take turns text by text. */
export type Infer = (tenantId: string, text: string, signal: AbortSignal) => Promise<Inferred>;

export interface Inferred {
  vector: Float32Array;
  tokens: number;
}

/** Threads for passages: each has the model in memory, and one processor is left to the event loop. */
export const passageThreads = Math.min(3, Math.max(1, availableParallelism() - 1));

/** A text takes tens of milliseconds; a thread that hangs in native code is terminated. */
const shared = { timeoutMs: 60_000, heapMb: 96, idleMs: 60_000, finishesTasks: true };

const forPassages: ThreadPoolOptions = {
  ...shared,
  threads: passageThreads,
  threadsPerKey: passageThreads,
  waitersPerKey: 200,
  waitMs: 60_000,
};

/** At normal priority and in a thread of its own: somebody waits for the answer. */
const forQueries: ThreadPoolOptions = {
  ...shared,
  threads: 1,
  threadsPerKey: 1,
  politeness: 0,
  waitersPerKey: 20,
  waitMs: 4_000,
};

const busyRetryMs = 5_000;

/** Threads of this process that run the builtin model, one kind for passages and one for queries. */
export function createInferenceThreads(model: BuiltinModel): Record<'passage' | 'query', Infer> {
  return { passage: inferIn(model, forPassages), query: inferIn(model, forQueries) };
}

function inferIn(model: BuiltinModel, options: ThreadPoolOptions): Infer {
  const module = new URL('./inference-thread.ts', import.meta.url);
  const pool = new ThreadPool<InferenceTask, Inference>(module, options);
  return async (tenantId, text, signal) => {
    const task = () => ({ files: model.files(), text, maxTokens: builtinPackage.maxTokens });
    const inference = await pool.run(tenantId, task, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw toFailure(error);
    });
    signal.throwIfAborted();
    if ('fault' in inference) {
      model.broken(inference.fault, inference.detail);
      throw new EmbeddingFailure('unavailable');
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
  return new EmbeddingFailure(error instanceof ThreadLimitExceeded ? 'unavailable' : 'malformed');
}
