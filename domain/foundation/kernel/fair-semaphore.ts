interface Waiter {
  admit: () => void;
}

export interface FairLimits {
  /** Max concurrent holders. */
  slots: number;
  /** Max concurrent holders of one key. */
  slotsPerKey: number;
  /** Max waiters of one key. */
  waitersPerKey: number;
  /** Max wait. */
  waitMs: number;
}

/** Too many callers wait for this key already, or the wait exceeded its limit. */
export class TooBusy extends Error {
  constructor() {
    super('There was no turn in time.');
    this.name = 'TooBusy';
  }
}

/**
 * A semaphore whose keys take turns: however many callers wait for one key, the first waiter of another key waits for
 * one turn of it at most.
 */
export class FairSemaphore {
  readonly #limits: FairLimits;
  readonly #held = new Map<string, number>();
  /** In the order of their turns. */
  readonly #waiting = new Map<string, Waiter[]>();
  #free: number;

  constructor(limits: FairLimits) {
    this.#limits = limits;
    this.#free = limits.slots;
  }

  /** @throws `TooBusy`; the signal's reason */
  async run<T>(key: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(key, signal);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** @returns what gives the slot back, to be called once. @throws `TooBusy`; the signal's reason */
  async acquire(key: string, signal: AbortSignal | undefined): Promise<() => void> {
    signal?.throwIfAborted();
    await this.#acquire(key, signal);
    return () => this.#release(key);
  }

  async #acquire(key: string, signal: AbortSignal | undefined): Promise<void> {
    if (this.#mayHold(key)) {
      this.#hold(key);
      return;
    }
    const queue = this.#waiting.get(key) ?? [];
    if (queue.length >= this.#limits.waitersPerKey) {
      throw new TooBusy();
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { admit: resolve };
    this.#waiting.set(key, [...queue, waiter]);
    const leave = (reason: unknown) => {
      this.#drop(key, waiter);
      reject(reason);
    };
    const abort = () => leave(signal?.reason);
    const timer = setTimeout(() => leave(new TooBusy()), this.#limits.waitMs);
    signal?.addEventListener('abort', abort, { once: true });
    await promise.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    });
  }

  #release(key: string): void {
    this.#free += 1;
    const held = (this.#held.get(key) ?? 1) - 1;
    if (held === 0) this.#held.delete(key);
    else this.#held.set(key, held);
    const next = [...this.#waiting].find(([waiting]) => this.#mayHold(waiting));
    if (next !== undefined) {
      const [turn, [waiter, ...rest]] = next;
      // Moves the key behind all others for its next turn.
      this.#waiting.delete(turn);
      if (rest.length > 0) this.#waiting.set(turn, rest);
      this.#hold(turn);
      waiter?.admit();
    }
  }

  #mayHold(key: string): boolean {
    return this.#free > 0 && (this.#held.get(key) ?? 0) < this.#limits.slotsPerKey;
  }

  #hold(key: string): void {
    this.#free -= 1;
    this.#held.set(key, (this.#held.get(key) ?? 0) + 1);
  }

  #drop(key: string, waiter: Waiter): void {
    const rest = (this.#waiting.get(key) ?? []).filter((each) => each !== waiter);
    if (rest.length > 0) this.#waiting.set(key, rest);
    else this.#waiting.delete(key);
  }
}
