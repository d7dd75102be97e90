/**
 * What `prepare` of a source has read, by key: of the documents that are fetched, and of the next ones, which it reads
 * meanwhile. Contents are large: each is dropped when the last document has taken it.
 */
export class Prepared<T> {
  #before = new Map<string, { read: T; left: number }>();
  #last = new Map<string, { read: T; left: number }>();

  /**
   * What was read before the last time is forgotten.
   * @param keys of each document, where several share what was read
   */
  add(read: ReadonlyMap<string, T>, keys: Iterable<string> = read.keys()): void {
    this.#before = this.#last;
    this.#last = new Map();
    for (const key of keys) {
      const found = read.get(key);
      if (found !== undefined) {
        const left = (this.#last.get(key)?.left ?? 0) + 1;
        this.#last.set(key, { read: found, left });
      }
    }
  }

  /** For one document. */
  take(key: string): T | undefined {
    const from = this.#before.has(key) ? this.#before : this.#last;
    const entry = from.get(key);
    if (entry !== undefined && (entry.left -= 1) === 0) {
      from.delete(key);
    }
    return entry?.read;
  }
}
