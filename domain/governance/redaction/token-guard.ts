import { heldBack } from './pii-tokens.ts';

/**
 * Forwards a model's text in pieces that never end within a token, so that a reader can restore values piece by
 * piece.
 */
export class TokenGuard {
  #held = '';

  /** The part of the text so far that can be forwarded. */
  push(text: string): string {
    const all = this.#held + text;
    const boundary = all.length - heldBack(all);
    this.#held = all.slice(boundary);
    return all.slice(0, boundary);
  }

  /** The held-back rest, after the end of the text. */
  end(): string {
    const rest = this.#held;
    this.#held = '';
    return rest;
  }
}
