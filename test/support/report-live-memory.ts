import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Loaded into a process whose memory is measured, with `--expose-gc`: at each signal it writes the bytes that are live
 * right after a collection, so that no figure depends on when the collector would have run.
 */
// Not a signal that asks a process to stop or to dump.
process.on('SIGWINCH', () => void report());

async function report(): Promise<void> {
  // The first collection leaves memory of buffers to be freed beside the program; the second one waits for that.
  globalThis.gc?.();
  await sleep(1);
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ liveBytes: heapUsed + external })}\n`);
}
