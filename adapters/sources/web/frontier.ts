import { z } from 'zod';
import { parseState } from '../shared/stored-text.ts';
import { SeenAddresses } from './seen-addresses.ts';
import { bytesOf, decodeVisit, encodeVisit, encodedVisit, type Visit } from './visit.ts';

/** Of addresses that wait; with the hashes of the seen ones, a cursor stays below a mebibyte. */
const maxQueueBytes = 400_000;
/** Deeper than any scope goes. */
const withoutLinks = 1_000;

const frontierSchema = z.strictObject({
  queue: z.array(encodedVisit),
  listed: z.string(),
  taken: z.int(),
  answered: z.int(),
  broken: z.int(),
  truncated: z.boolean(),
});

/** The addresses that a crawl has seen and those that it still has to visit, first found first. */
export class Frontier {
  readonly #queue: Visit[];
  /** Those that were listed as pages are marked. */
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
    this.#queue = (state?.queue ?? []).map(decodeVisit);
    this.#bytes = this.#queue.reduce((sum, visit) => sum + bytesOf(visit), 0);
    this.#seen = new SeenAddresses(state?.listed);
    this.#taken = state?.taken ?? 0;
    this.answered = state?.answered ?? 0;
    this.broken = state?.broken ?? 0;
    this.truncated = state?.truncated ?? false;
  }

  /** @returns whether it is visited, or was; otherwise a limit left it out */
  add(visit: Visit): boolean {
    if (this.#seen.has(visit.address)) {
      return true;
    }
    if (this.#taken + this.#queue.length >= this.#maxPages || !this.#hasRoom(bytesOf(visit))) {
      this.truncated = true;
      return false;
    }
    this.#seen.add(visit.address);
    this.#push(visit);
    return true;
  }

  /** The page of the address is a document of the listing. */
  list(address: string): void {
    this.#seen.mark(address);
  }

  isListed(address: string): boolean {
    return this.#seen.isMarked(address);
  }

  /** @returns whether the page that this one names as canonical is listed, or waits to be; otherwise this one is */
  defer({ address, depth }: Visit, canonical: string): boolean {
    const waiting = this.#waiting(canonical);
    if (waiting !== null) {
      return this.#name(waiting, [address]);
    }
    if (this.#seen.has(canonical)) {
      return this.#seen.isMarked(canonical);
    }
    const visit = { hops: 0, isStart: false, standsAlone: true, namedBy: [address] };
    return this.add({ ...visit, address: canonical, depth });
  }

  redirect(visit: Visit, to: string): void {
    const { namedBy } = visit;
    const others = namedBy.filter((each) => each !== to);
    const waiting = namedBy.length === 0 ? null : this.#waiting(to);
    if (others.length < namedBy.length) {
      // A page that names an address which leads back to it.
      this.#listThemselves([to], others);
    } else if (waiting !== null) {
      if (!this.#name(waiting, namedBy)) this.truncated = true;
    } else if (!this.#seen.has(to)) {
      this.add({ ...visit, address: to, hops: visit.hops + 1 });
    } else if (!this.#seen.isMarked(to)) {
      this.#listThemselves(namedBy);
    }
  }

  /** There is no page at the address: those that named it stand for themselves, and are visited once more. */
  miss({ namedBy }: Visit): void {
    this.#listThemselves(namedBy);
  }

  #listThemselves(addresses: readonly string[], namedBy: readonly string[] = []): void {
    for (const address of addresses) {
      const visit = { address, depth: withoutLinks, hops: 0, isStart: false, standsAlone: true, namedBy };
      if (!this.#hasRoom(bytesOf(visit))) {
        this.truncated = true;
        return;
      }
      this.#taken -= 1;
      this.#push(visit);
    }
  }

  #waiting(address: string): Visit | null {
    return (this.#seen.has(address) && this.#queue.find((visit) => visit.address === address)) || null;
  }

  #name(waiting: Visit, namedBy: readonly string[]): boolean {
    const bytes = namedBy.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
    if (!this.#hasRoom(bytes)) {
      return false;
    }
    waiting.standsAlone = true;
    waiting.namedBy = [...waiting.namedBy, ...namedBy];
    this.#bytes += bytes;
    return true;
  }

  #hasRoom(bytes: number): boolean {
    return this.#bytes + bytes <= maxQueueBytes;
  }

  #push(visit: Visit): void {
    this.#queue.push(visit);
    this.#bytes += bytesOf(visit);
  }

  take(): Visit | null {
    const visit = this.#queue.shift();
    if (visit === undefined) {
      return null;
    }
    this.#bytes -= bytesOf(visit);
    this.#taken += 1;
    return visit;
  }

  /** A visit that could not be made is the next one. */
  putBack(visit: Visit): void {
    this.#queue.unshift(visit);
    this.#bytes += bytesOf(visit);
    this.#taken -= 1;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  encode(): string {
    const { answered, broken, truncated } = this;
    return JSON.stringify({
      queue: this.#queue.map(encodeVisit),
      listed: this.#seen.encode(),
      taken: this.#taken,
      answered,
      broken,
      truncated,
    });
  }
}
