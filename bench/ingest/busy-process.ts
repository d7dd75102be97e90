import { fileURLToPath } from 'node:url';
import { startLimitedChild } from '#adapters/process/limited-child.ts';

const module = fileURLToPath(new URL('../peers/busy.ts', import.meta.url));

/** Runs the work beside a process that only calculates, with the priority of those that embed passages. */
export async function besideBusyProcess<T>(work: () => Promise<T>): Promise<T> {
  const child = startLimitedChild(module, { heapMb: 32, residentMb: 256 });
  try {
    return await work();
  } finally {
    child.kill('SIGKILL');
  }
}
