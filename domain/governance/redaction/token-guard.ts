import { heldBack } from './pii-tokens.ts';

/**
 * Passes a model's text on so that no piece ends within a token: whoever gets the pieces can put values in the place
 * of tokens piece by piece.
 */
export class TokenGuard {
  #held = '';

  /** What may go on of all that has come. */
  push(text: string): string {
    const all = this.#held + text;
    const boundary = all.length - heldBack(all);
    this.#held = all.slice(boundary);
    return all.slice(0, boundary);
  }

  /** What was held, once the text has ended. */
  end(): string {
    const rest = this.#held;
    this.#held = '';
    return rest;
  }
}
