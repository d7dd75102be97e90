import { IllegalStateError, Runtime } from '@temporalio/worker';

/** A logger without output. */
export const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/**
 * The SDK and its core log refused replays at length. Files share a process, which may have its runtime
 * already.
 */
export function silenceRuntime(): void {
  try {
    Runtime.install({ logger: quiet, telemetryOptions: { logging: { filter: 'off' } } });
  } catch (error) {
    if (!(error instanceof IllegalStateError)) throw error;
  }
}
