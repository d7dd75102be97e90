type Release = () => void;

/**
 * The place of one search. It is given up while the search waits for an embedding or reranking model, and taken again for the steps
 * behind: a vendor that does not answer keeps no other search waiting.
 */
export class SearchPlace {
  readonly #take: () => Promise<Release>;
  #release: Release | null;
  #hasLeft = false;
  /** Calls that are outside now: a search of several spaces may ask several models at once. */
  #outside = 0;
  /** Pending while the place is given up. */
  #held: Promise<void> = Promise.resolve();
  #settle: { resolve: () => void; reject: (error: unknown) => void } | null = null;

  constructor(take: () => Promise<Release>, release: Release) {
    this.#take = take;
    this.#release = release;
  }

  /** Runs one step of the search in its place. @throws errors of taking it again */
  async inside<T>(step: () => Promise<T>): Promise<T> {
    await this.#held;
    return step();
  }

  /** Runs a call without the place. */
  async outside<T>(call: () => Promise<T>): Promise<T> {
    while (this.#outside === 0 && this.#release === null && !this.#hasLeft) {
      await this.#held;
    }
    this.#outside += 1;
    this.#giveUp();
    try {
      return await call();
    } finally {
      this.#outside -= 1;
      if (this.#outside === 0) {
        void this.#takeAgain();
      }
    }
  }

  /** Ends the search. */
  leave(): void {
    this.#hasLeft = true;
    this.#release?.();
    this.#release = null;
  }

  #giveUp(): void {
    if (this.#release !== null) {
      const { promise, ...settle } = Promise.withResolvers<void>();
      // A search that has failed does not wait for it.
      promise.catch(() => undefined);
      this.#held = promise;
      this.#settle = settle;
      this.#release();
      this.#release = null;
    }
  }

  async #takeAgain(): Promise<void> {
    try {
      const release = await this.#take();
      if (this.#hasLeft) {
        release();
      } else {
        this.#release = release;
      }
      this.#settle?.resolve();
    } catch (error) {
      this.#settle?.reject(error);
    }
  }
}
