import { Context } from '@temporalio/activity';

const defaultBeatMs = 700;

/**
 * Sends heartbeats on a timer while `work` runs, with `details` for the next attempt. Aborts its `stop` when Temporal
 * cancels the activity or the worker shuts down.
 */
export async function keepAlive<T>(
  work: (stop: AbortController) => Promise<T>,
  beatEveryMs = defaultBeatMs,
  details?: unknown,
): Promise<T> {
  const context = Context.current();
  const stop = new AbortController();
  const timer = setInterval(() => context.heartbeat(details), beatEveryMs);
  const abort = () => stop.abort(context.cancellationSignal.reason);
  context.cancellationSignal.addEventListener('abort', abort, { once: true });
  if (context.cancellationSignal.aborted) {
    abort();
  }
  try {
    return await work(stop);
  } finally {
    clearInterval(timer);
    context.cancellationSignal.removeEventListener('abort', abort);
  }
}
