import { ModelFailure } from '#domain/models/model-gateway.ts';

const idleMs = 60_000;

/** Ends a stream that has been silent for a minute. There is no limit on its whole length but the deadline. */
export async function* withIdleLimit<T>(stream: ReadableStream<T>): AsyncGenerator<T> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const next = await beforeIdle(reader.read());
      if (next.done) {
        return;
      }
      yield next.value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function beforeIdle<T>(read: Promise<T>): Promise<T> {
  const { promise: idle, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new ModelFailure('model_timeout', { retryable: true })), idleMs);
  try {
    return await Promise.race([read, idle]);
  } finally {
    clearTimeout(timer);
  }
}
