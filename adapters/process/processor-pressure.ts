import { readFileSync } from 'node:fs';

/** Mean milliseconds that a runnable thread waits for a processor, from which on the machine counts as busy. */
const busyFromMs = 0.5;
const nanosecondsPerMs = 1_000_000;

/**
 * Whether the event loop of this process waits for a processor whenever it has something to do: by the kernel's count
 * of its waits since the last call. It costs nothing in between.
 * @returns null where the kernel does not count them
 */
export function processorPressure(read: () => string = schedulerStatistics): () => boolean | null {
  let before = parsed(read());
  return () => {
    const now = parsed(read());
    if (now === null || before === null) {
      return null;
    }
    const turns = now.turns - before.turns;
    const waitedMs = (now.waited - before.waited) / nanosecondsPerMs;
    before = now;
    return turns > 0 && waitedMs / turns >= busyFromMs;
  };
}

/** Of the main thread: time on a processor, time of waiting for one, and the number of times that it got one. */
function schedulerStatistics(): string {
  try {
    return readFileSync('/proc/self/schedstat', 'utf8');
  } catch {
    return '';
  }
}

function parsed(text: string): { waited: number; turns: number } | null {
  const [, waited, turns] = /^\d+ (\d+) (\d+)/.exec(text) ?? [];
  return waited === undefined ? null : { waited: Number(waited), turns: Number(turns) };
}
