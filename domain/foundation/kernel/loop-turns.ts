import { setImmediate as othersTurn } from 'node:timers/promises';

/** Milliseconds for which a long loop holds the event loop at most. */
const turnMs = 10;

/** Lets the other work of the process have its turn during a long loop. */
export class LoopTurns {
  #since = performance.now();

  /** Called for each item of the loop. */
  async pass(signal?: AbortSignal): Promise<void> {
    if (performance.now() - this.#since <= turnMs) {
      return;
    }
    await othersTurn();
    signal?.throwIfAborted();
    this.#since = performance.now();
  }
}

/** The items that fit. */
export async function filterInTurns<T>(
  items: readonly T[],
  fits: (item: T) => boolean,
  signal?: AbortSignal,
): Promise<T[]> {
  const turns = new LoopTurns();
  const found: T[] = [];
  for (const item of items) {
    if (fits(item)) found.push(item);
    await turns.pass(signal);
  }
  return found;
}
