/**
 * Round-robin turns at the event loop. One turn runs in each round of the loop, so other work is not starved. The keys
 * alternate, so the first waiter of a key waits for at most one turn of each other key.
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
      // The key moves to the end of the queue.
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
