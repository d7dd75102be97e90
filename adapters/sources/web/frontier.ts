import { z } from 'zod';
import { parseState } from '../shared/stored-text.ts';
import { SeenAddresses } from './seen-addresses.ts';

/** Of addresses that wait; with the hashes of the seen ones, a cursor stays below a mebibyte. */
const maxQueueBytes = 400_000;

const visitSchema = z.tuple([z.string(), z.int(), z.int(), z.boolean()]);
const frontierSchema = z.strictObject({
  queue: z.array(visitSchema),
  seen: z.string(),
  taken: z.int(),
  answered: z.int(),
  broken: z.int(),
  truncated: z.boolean(),
});

export interface Visit {
  address: string;
  /** Links from a start address. */
  depth: number;
  /** Redirects on the way. */
  hops: number;
  /** Another page names it as its canonical address: it stands for itself, whatever it names. */
  isCanonical: boolean;
}

/** The addresses that a crawl has seen and those that it still has to visit, first found first. */
export class Frontier {
  readonly #queue: Visit[];
  readonly #seen: SeenAddresses;
  readonly #maxPages: number;
  #bytes = 0;
  #taken: number;
  /** Pages that answered, and the last pages in a row that did not. */
  answered: number;
  broken: number;
  truncated: boolean;

  constructor(maxPages: number, cursor: string | null) {
    const state = cursor === null ? null : parseState(frontierSchema, cursor);
    this.#maxPages = maxPages;
    this.#queue = (state?.queue ?? []).map(([address, depth, hops, isCanonical]) => ({
      address,
      depth,
      hops,
      isCanonical,
    }));
    this.#bytes = this.#queue.reduce((sum, { address }) => sum + Buffer.byteLength(address), 0);
    this.#seen = new SeenAddresses(state?.seen);
    this.#taken = state?.taken ?? 0;
    this.answered = state?.answered ?? 0;
    this.broken = state?.broken ?? 0;
    this.truncated = state?.truncated ?? false;
  }

  add(visit: Visit): void {
    if (this.#seen.has(visit.address)) {
      const waiting = visit.isCanonical && this.#queue.find(({ address }) => address === visit.address);
      if (waiting) waiting.isCanonical = true;
      return;
    }
    const bytes = Buffer.byteLength(visit.address);
    if (this.#taken + this.#queue.length >= this.#maxPages || this.#bytes + bytes > maxQueueBytes) {
      this.truncated = true;
      return;
    }
    this.#seen.add(visit.address);
    this.#queue.push(visit);
    this.#bytes += bytes;
  }

  take(): Visit | null {
    const visit = this.#queue.shift();
    if (visit === undefined) {
      return null;
    }
    this.#bytes -= Buffer.byteLength(visit.address);
    this.#taken += 1;
    return visit;
  }

  /** A visit that could not be made is the next one. */
  putBack(visit: Visit): void {
    this.#queue.unshift(visit);
    this.#bytes += Buffer.byteLength(visit.address);
    this.#taken -= 1;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  encode(): string {
    const { answered, broken, truncated } = this;
    const queue = this.#queue.map(({ address, depth, hops, isCanonical }) => [
      address,
      depth,
      hops,
      isCanonical,
    ]);
    return JSON.stringify({
      queue,
      seen: this.#seen.encode(),
      taken: this.#taken,
      answered,
      broken,
      truncated,
    });
  }
}
