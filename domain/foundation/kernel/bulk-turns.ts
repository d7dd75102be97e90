import type { AdaptiveRate } from './adaptive-rate.ts';

/** Short beside what somebody notices of an answer, long beside a unit. */
const roundMs = 50;
/** How long after the last request for a unit the work counts as going on. */
const usedForMs = 1_000;

export interface BulkTurnsOptions {
  /** Units of bulk work of the whole process. */
  rate: AdaptiveRate;
  /** Whether the process has begun other work of late, which goes before. */
  isContended: () => boolean;
}

/**
 * Bulk work gives way: while the process has begun other work of late, its units begin at a rate that adapts to the
 * machine, and tenants take turns. Otherwise each begins at once.
 */
export class BulkTurns {
  readonly #options: BulkTurnsOptions;
  /** Of each tenant the units that wait, oldest first; tenants in the order of their turns. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #round = { at: -Infinity, left: 0, isSpent: false };
  #timer: NodeJS.Timeout | null = null;
  #askedAt = -Infinity;

  constructor(options: BulkTurnsOptions) {
    this.#options = options;
  }

  /** Resolves when one more unit of the tenant may begin. @throws the signal's reason */
  async take(tenantId: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#askedAt = performance.now();
    if (this.#waiting.size > 0 || !this.#mayBegin()) {
      await this.#turn(tenantId, signal);
    }
  }

  /** Whether any tenant has asked for a unit of late. */
  isUsed(): boolean {
    return this.#askedAt >= performance.now() - usedForMs;
  }

  /** Takes one of the round's units. */
  #mayBegin(): boolean {
    if (!this.#options.isContended()) {
      return true;
    }
    const now = performance.now();
    if (now - this.#round.at >= roundMs) {
      this.#round = { at: now, left: this.#options.rate.next(this.#round.isSpent, now), isSpent: false };
    }
    this.#round.left -= 1;
    this.#round.isSpent ||= this.#round.left < 0;
    return this.#round.left >= 0;
  }

  async #turn(tenantId: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const queue = this.#waiting.get(tenantId) ?? [];
    this.#waiting.set(tenantId, queue);
    queue.push(resolve);
    const leave = () => {
      const at = queue.indexOf(resolve);
      if (at !== -1) queue.splice(at, 1);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', leave, { once: true });
    if (this.#timer === null) {
      this.#timer = setTimeout(() => this.#beginWaiting(), roundMs);
    }
    await promise.finally(() => signal.removeEventListener('abort', leave));
  }

  #beginWaiting(): void {
    this.#timer = null;
    for (const [tenantId, queue] of this.#waiting) {
      if (queue.length > 0 && !this.#mayBegin()) {
        break;
      }
      // The tenant's next unit waits behind those of the others.
      this.#waiting.delete(tenantId);
      queue.shift()?.();
      if (queue.length > 0) {
        this.#waiting.set(tenantId, queue);
      }
    }
    if (this.#waiting.size > 0) {
      this.#timer = setTimeout(() => this.#beginWaiting(), roundMs);
    }
  }
}
