import { Context } from '@temporalio/activity';

const beatEveryMs = 700;

/**
 * Heartbeats on a timer, whatever the work does meanwhile, and aborts `stop` when Temporal cancels the
 * activity or the worker is asked to go.
 */
export function keepAlive(stop: AbortController): { stop: () => void } {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), beatEveryMs);
  const abort = () => stop.abort(context.cancellationSignal.reason);
  context.cancellationSignal.addEventListener('abort', abort, { once: true });
  if (context.cancellationSignal.aborted) {
    abort();
  }
  return {
    stop: () => {
      clearInterval(timer);
      context.cancellationSignal.removeEventListener('abort', abort);
    },
  };
}
