import type { BlockText } from './block-text.ts';

/** Markdown that grows block by block, up to a length: the lines of a deep block are longer than those it was given. */
export class BoundedText {
  readonly #parts: string[] = [];
  #room: number;

  /** @param maxLength in UTF-16 units */
  constructor(maxLength: number) {
    this.#room = maxLength;
  }

  /**
   * Counts a block before it is added, so that none is held which does not fit.
   * @param prefix of every line
   * @returns false: it is longer than the room that is left
   */
  reserve({ text, lead, inner }: BlockText, prefix: string): boolean {
    const length = text === '' ? 0 : text.length + 2;
    const added = length + linesOf(text) * (prefix.length + Math.max(lead.length, inner.length));
    if (added > this.#room) {
      return false;
    }
    this.#room -= added;
    return true;
  }

  /** @param joins it follows the block before without an empty line */
  add({ text, lead, inner }: BlockText, { prefix, joins }: { prefix: string; joins: boolean }): void {
    if (text === '') {
      return;
    }
    const between = this.#parts.length === 0 ? '' : joins ? '\n' : '\n\n';
    const shown = text
      .split('\n')
      .map((line, at) => prefix + (at === 0 ? lead : inner) + line)
      .join('\n');
    this.#parts.push(between + shown);
  }

  toString(): string {
    return this.#parts.join('');
  }
}

function linesOf(text: string): number {
  let lines = text === '' ? 0 : 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    lines += 1;
  }
  return lines;
}
