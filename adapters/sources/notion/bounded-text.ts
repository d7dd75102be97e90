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
   * @param prefix of every line
   * @param joins it follows the block before without an empty line
   * @returns false: it is longer than the room that is left
   */
  add({ text, lead, inner }: BlockText, { prefix, joins }: { prefix: string; joins: boolean }): boolean {
    if (text === '') {
      return true;
    }
    const lines = text.split('\n');
    const added = text.length + lines.length * (prefix.length + Math.max(lead.length, inner.length)) + 2;
    if (added > this.#room) {
      return false;
    }
    this.#room -= added;
    const between = this.#parts.length === 0 ? '' : joins ? '\n' : '\n\n';
    this.#parts.push(between + lines.map((line, at) => prefix + (at === 0 ? lead : inner) + line).join('\n'));
    return true;
  }

  toString(): string {
    return this.#parts.join('');
  }
}
