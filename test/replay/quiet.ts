import { Runtime } from '@temporalio/worker';

/** A logger that says nothing. */
export const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** Once per process: the SDK and its core tell of refused replays at length. */
export function silenceRuntime(): void {
  Runtime.install({ logger: quiet, telemetryOptions: { logging: { filter: 'off' } } });
}
