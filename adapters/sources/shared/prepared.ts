/**
 * What `prepare` of a source has read, by key: of the documents that are fetched, and of the next ones, which it reads
 * meanwhile.
 */
export class Prepared<T> {
  #before: ReadonlyMap<string, T> = new Map();
  #last: ReadonlyMap<string, T> = new Map();

  /** What was read before the last time is forgotten. */
  add(read: ReadonlyMap<string, T>): void {
    this.#before = this.#last;
    this.#last = read;
  }

  get(key: string): T | undefined {
    return this.#last.get(key) ?? this.#before.get(key);
  }
}
