/** A word that two lines share: `left` ends the first one, before its hyphen; `right` begins the second one. */
export interface BrokenWord {
  left: string;
  right: string;
}

/** Characters of a line's end or beginning that are looked at. */
const maxWord = 60;
/** Words of a document that are looked for. */
const maxSought = 500_000;

const words = /[\p{L}\p{M}\p{N}]+(?:[-\u2010][\p{L}\p{M}\p{N}]+)*/gu;
const beginning = /^[\p{L}\p{M}\p{N}]+(?:[-\u2010][\p{L}\p{M}\p{N}]+)*/u;

/** The word that is broken between two lines; null: the first one does not end with a hyphen. */
export function brokenWord(line: string, next: string): BrokenWord | null {
  if (!/[-\u2010]$/.test(line)) return null;
  const end = line.slice(-maxWord, -1);
  const left = /[\p{L}\p{M}\p{N}]$/u.test(end) ? end.match(words)?.at(-1) : undefined;
  const right = beginning.exec(next.slice(0, maxWord))?.[0];
  return left === undefined || right === undefined ? null : { left, right };
}

/** How often the rest of a document has the words that could be meant. Its time and memory grow with the lines. */
export class WordCounts {
  readonly #counts = new Map<string, number>();

  /** @param pages their lines, without white space at both ends */
  constructor(pages: readonly (readonly string[])[]) {
    const broken = pages.map((lines) => lines.map((line, at) => brokenWord(line, lines[at + 1] ?? '')));
    for (const found of broken.flat()) {
      if (found !== null && this.#counts.size < maxSought) this.#seek(found);
    }
    if (this.#counts.size === 0) return;
    for (const [page, lines] of pages.entries()) {
      for (const [at, line] of lines.entries()) {
        const [before, after] = [broken[page]?.[at - 1], broken[page]?.[at]];
        const end = after ? line.length - after.left.length - 1 : line.length;
        this.#count(line.slice(before?.right.length ?? 0, end));
      }
    }
  }

  whole({ left, right }: BrokenWord): number {
    const [inner, outer] = [lastPart(left) + firstPart(right), left + right];
    return Math.max(this.#of(plain(inner)), this.#of(plain(outer)));
  }

  hyphenated({ left, right }: BrokenWord): number {
    return Math.max(
      this.#of(plain(`${lastPart(left)}-${firstPart(right)}`)),
      this.#of(plain(`${left}-${right}`)),
    );
  }

  /** Whether both sides are words of the document, one of them perhaps within other words that have a hyphen. */
  areWords({ left, right }: BrokenWord): boolean {
    const [first, second] = [lastPart(left), firstPart(right)];
    const isFirst = this.#of(` ${first}`) + this.#of(` ${first.toLowerCase()}`) > 0;
    const isSecond = this.#of(` ${second}`) > 0;
    const shorter = Math.min(first.length, second.length);
    // A short word may be a syllable, such as the first one of `into`.
    if (isFirst && isSecond && shorter > 3) return true;
    const isPart = (isSecond && this.#of(`${plain(first)}-`) > 0) || (isFirst && this.#of(`-${second}`) > 0);
    return isPart && shorter > 2;
  }

  #of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  #seek({ left, right }: BrokenWord): void {
    const [first, second] = [lastPart(left), firstPart(right)];
    const forms = [left + right, `${left}-${right}`, first + second, `${first}-${second}`, `${first}-`];
    const keys = [...forms.map(plain), `-${second}`, ` ${first}`, ` ${first.toLowerCase()}`, ` ${second}`];
    for (const key of keys) this.#counts.set(key, 0);
  }

  #count(text: string): void {
    for (const { 0: found, index } of text.matchAll(words)) {
      const parts = found.split(/[-\u2010]/);
      this.#add(plain(found));
      if (parts.length > 1) {
        for (const [at, part] of parts.entries()) {
          if (at > 0) this.#add(`-${part}`);
          if (at < parts.length - 1) this.#add(`${plain(part)}-`);
        }
      } else if (!/[-\u2010]/.test(text[index + found.length] ?? '')) {
        // As it is written: German nouns have capitals, and are not what follows a hyphen in small letters.
        this.#add(` ${found}`);
      }
    }
  }

  #add(key: string): void {
    const count = this.#counts.get(key);
    if (count !== undefined) this.#counts.set(key, count + 1);
  }
}

const lastPart = (compound: string): string => compound.split(/[-\u2010]/).at(-1) ?? '';
const firstPart = (compound: string): string => compound.split(/[-\u2010]/)[0] ?? '';
const plain = (text: string): string => text.replaceAll('\u2010', '-').toLowerCase();
