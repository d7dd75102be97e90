import { Worker } from 'node:worker_threads';

const parentCheckMs = 500;

/**
 * For a process that `startLimitedChild` started: it ends with its parent, also while a task keeps its thread busy.
 * Signals to the whole group are for the parent, which ends its processes when its work is done.
 */
export function endWithParent(): void {
  const parent = Number(process.argv[2]);
  const watchdog = new Worker(
    `setInterval(() => { if (process.ppid !== ${parent}) process.kill(process.pid, 'SIGKILL'); }, ${parentCheckMs});`,
    { eval: true, env: {}, resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 } },
  );
  watchdog.unref();
  process.on('disconnect', () => process.exit(0));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
}
