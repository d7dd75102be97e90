import { ModelFailure, type ModelSpec } from '#domain/capabilities/models/model-gateway.ts';
import { answerLimits } from '../egress/answer-limits.ts';

const maxMs = answerLimits.model.idleMs;

/** A model that reasons may be silent for minutes, unless its vendor streams its reasoning. */
export function idleMsOf({ supportsReasoning }: Pick<ModelSpec, 'supportsReasoning'>): number {
  return supportsReasoning ? maxMs : 60_000;
}

/** Timeout until the answer begins. A background run may be queued at the vendor. */
export function openingMsOf(model: Pick<ModelSpec, 'supportsReasoning' | 'storesRuns'>): number {
  return model.storesRuns ? maxMs : idleMsOf(model);
}

/** Ends a stream that was silent for `idleMs`. Its total time is limited by the deadline alone. */
export async function* withIdleLimit<T>(stream: ReadableStream<T>, idleMs: number): AsyncGenerator<T> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const next = await beforeIdle(reader.read(), idleMs);
      if (next.done) {
        return;
      }
      yield next.value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** @throws ModelFailure `model_timeout` */
export async function beforeIdle<T>(read: Promise<T>, idleMs: number): Promise<T> {
  const { promise: idle, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new ModelFailure('model_timeout', { retryable: true })), idleMs);
  try {
    return await Promise.race([read, idle]);
  } finally {
    clearTimeout(timer);
  }
}
