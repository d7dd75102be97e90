/**
 * Looks for a growing text in a fixed one, in linear time over all its growth (Knuth, Morris and Pratt): both
 * are a model's, which may repeat itself without end. The borders and the place that earlier, shorter texts reached
 * still hold for a longer one.
 */
export class GrowingSearch {
  readonly #searched: string;
  readonly #borders: number[] = [];
  /** Characters of `#searched` that are read, and how many of the text's first ones match at their end. */
  #read = 0;
  #matched = 0;

  constructor(searched: string) {
    this.#searched = searched;
  }

  /** Whether `text`, which begins with the text of every earlier call, occurs before the end of what is searched. */
  occursBeforeEnd(text: string): boolean {
    const { length } = this.#searched;
    if (text.length >= length) return false;
    extendBorders(text, this.#borders, text.length);
    while (this.#matched < text.length && this.#read < length) {
      const by = this.#searched.charCodeAt(this.#read);
      this.#matched = extended(text, this.#borders, { length: this.#matched, by });
      this.#read += 1;
    }
    return this.#matched === text.length && this.#read < length;
  }
}

/**
 * For each start of `text` up to `limit` characters, the length of its longest proper end that is also its start, added
 * to those that are known.
 */
export function extendBorders(text: string, borders: number[], limit: number): void {
  for (let at = borders.length; at < limit; at += 1) {
    const by = text.charCodeAt(at);
    borders.push(at === 0 ? 0 : extended(text, borders, { length: borders[at - 1] ?? 0, by }));
  }
}

/** The length of the start of `text` that is matched once `by` is read after `length` matched characters. */
export function extended(
  text: string,
  borders: readonly number[],
  read: { length: number; by: number },
): number {
  let { length } = read;
  while (length > 0 && text.charCodeAt(length) !== read.by) length = borders[length - 1] ?? 0;
  return text.charCodeAt(length) === read.by ? length + 1 : length;
}
