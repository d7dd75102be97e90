export interface AdaptiveRateOptions {
  /** The rate while nothing is known of the machine, and while nothing is held back. */
  perSecond: number;
  /** Whether the machine has too little processor time; null: unknown. */
  pressure: () => boolean | null;
  /** A round with less to do does not lower a raised rate: the next unit is asked for when the last one is done. */
  isDemandPaced?: boolean;
  /** Upper bound, as a multiple of `perSecond`; 8 when not given. */
  most?: number;
}

/** Nothing is saved up in a longer pause between rounds. */
const maxRoundMs = 1_000;
/** A shorter look at the machine says little. */
const lookEveryMs = 500;
/** Bounds of the rate, as multiples of `perSecond`. */
const [least, defaultMost] = [1 / 4, 8];
/** Falls at once, and feels its way up. */
const [falls, rises] = [1 / 2, 5 / 4];

/**
 * How much each round of a loop may do: a rate that falls while the machine is under pressure, and rises while it is
 * not and more is to be done.
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

  /**
   * Begins a round.
   * @param heldBack whether the round before had more to do than it might
   * @returns whole units since that round; fractions are kept for the next
   */
  next(heldBack: boolean, now = performance.now()): number {
    const elapsedMs = Math.min(now - (this.#roundAt ?? now - maxRoundMs), maxRoundMs);
    this.#roundAt = now;
    if (now - this.#lookedAt >= lookEveryMs) {
      this.#lookedAt = now;
      this.#adapt(heldBack);
    }
    const units = this.#saved + (this.#options.perSecond * this.#factor * elapsedMs) / 1_000;
    this.#saved = units % 1;
    return Math.floor(units);
  }

  #adapt(heldBack: boolean): void {
    const pressure = this.#options.pressure();
    if (pressure === true) {
      this.#factor = Math.max(least, this.#factor * falls);
    } else if (pressure === false) {
      const fallen = this.#options.isDemandPaced === true ? this.#factor : Math.max(1, this.#factor * falls);
      const idle = this.#factor > 1 ? fallen : Math.min(1, this.#factor * rises);
      const { most = defaultMost } = this.#options;
      this.#factor = heldBack ? Math.min(most, this.#factor * rises) : idle;
    }
  }
}
