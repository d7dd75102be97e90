/**
 * Turns at the event loop: one in each of its rounds, so that whatever else waits for the loop comes in between, and
 * the keys in turn, so that however many wait for one key, the first of another waits for one turn of it at most.
 */
export class FairTurns {
  /** In the order of their turns. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #scheduled = false;

  take(key: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const queue = this.#waiting.get(key);
    if (queue === undefined) {
      this.#waiting.set(key, [resolve]);
    } else {
      queue.push(resolve);
    }
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (!this.#scheduled && this.#waiting.size > 0) {
      this.#scheduled = true;
      setImmediate(() => this.#next());
    }
  }

  #next(): void {
    this.#scheduled = false;
    for (const [key, queue] of this.#waiting) {
      // Behind all others, for its next turn.
      this.#waiting.delete(key);
      queue.shift()?.();
      if (queue.length > 0) {
        this.#waiting.set(key, queue);
      }
      break;
    }
    this.#schedule();
  }
}
