import { LiveResponse, type LiveOptions } from './live-response.ts';
import type { Part } from './scripts.ts';

type TrafficOptions = Omit<LiveOptions, 'index' | 'part' | 'first' | 'signal'> & {
  concurrency: number;
  parts: readonly Part[];
};

/** Keeps that many responses streaming, one manner after the other, until stopped. */
export class Traffic {
  readonly all: LiveResponse[] = [];
  readonly #options: TrafficOptions;
  readonly #giveUp = new AbortController();
  #next = 0;
  #stopping = false;

  constructor(options: TrafficOptions) {
    this.#options = options;
    for (let i = 0; i < options.concurrency; i += 1) this.#launchNext();
  }

  get running(): LiveResponse[] {
    return this.all.filter((live) => !live.hasEnded);
  }

  launch(part: Part, first?: LiveOptions['first']): LiveResponse {
    const live = new LiveResponse({
      ...this.#options,
      index: this.all.length,
      part,
      signal: this.#giveUp.signal,
      ...(first && { first }),
    });
    this.all.push(live);
    return live;
  }

  /** Starts no more; resolves when all have ended, or abandons those still running after `withinMs`. */
  async finish(withinMs: number): Promise<void> {
    this.#stopping = true;
    const timer = setTimeout(() => this.#giveUp.abort(), withinMs);
    await Promise.all(this.all.map((live) => live.done));
    clearTimeout(timer);
  }

  #launchNext(): void {
    if (this.#stopping) return;
    const { parts } = this.#options;
    const part = parts[this.#next % parts.length]!;
    this.#next += 1;
    const live = this.launch(part);
    void live.done.then(() => this.#launchNext());
  }
}
