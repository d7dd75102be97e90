export interface AdaptiveRateOptions {
  /** The rate before anything is known of the machine; kept where nothing can be known. */
  perSecond: number;
  /** Whether the machine has too little processor time; null: unknown. */
  pressure: () => boolean | null;
}

/** Between rounds longer than this nothing is saved up. */
const maxRoundMs = 1_000;
/** Bounds of the rate, as multiples of `perSecond`. */
const [least, most] = [1 / 4, 20];
const [falls, rises] = [0.7, 1.5];
/** A shorter look at the machine says little. */
const lookEveryMs = 500;

/**
 * How much each round of a loop may do: a rate that falls from round to round while the machine is under pressure, and
 * rises while it is not.
 */
export class AdaptiveRate {
  readonly #options: AdaptiveRateOptions;
  #factor = 1;
  #saved = 0;
  #roundAt: number | null = null;
  #lookedAt = -Infinity;

  constructor(options: AdaptiveRateOptions) {
    this.#options = options;
  }

  get perSecond(): number {
    return this.#options.perSecond * this.#factor;
  }

  /** Begins a round. @returns whole units since the last one; fractions are kept for the next */
  next(now = performance.now()): number {
    const elapsedMs = Math.min(now - (this.#roundAt ?? now - maxRoundMs), maxRoundMs);
    this.#roundAt = now;
    if (now - this.#lookedAt >= lookEveryMs) {
      this.#lookedAt = now;
      this.#adapt();
    }
    const units = this.#saved + (this.perSecond * elapsedMs) / 1_000;
    this.#saved = units % 1;
    return Math.floor(units);
  }

  #adapt(): void {
    const pressure = this.#options.pressure();
    if (pressure !== null) {
      this.#factor = Math.min(most, Math.max(least, this.#factor * (pressure ? falls : rises)));
    }
  }
}
