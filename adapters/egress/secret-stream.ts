/** Printable ASCII without the space. */
export const firstCode = 33;
export const codes = 94;
const removed = '[credential removed]';

/** The automaton of the searched forms; 0 is its start state. */
interface Automaton {
  step(state: number, code: number): number;
  /** Length of the longest form that ends in the state, 0 for none. */
  found(state: number): number;
  /** Length of the prefix that leads to the state. */
  depth(state: number): number;
}

/**
 * Removes forms from a text that arrives in chunks. A possible beginning of a form is held back until the next
 * characters decide.
 */
export class SecretStream {
  readonly #forms: Automaton;
  readonly #maxPassedOver: number;
  #state = 0;
  #held = '';
  /** Index in the held text of the last printable character, and the count of characters skipped since. */
  #last = -1;
  #passedOver = 0;

  /** @param maxPassedOver count of consecutive skipped characters after which a partial match is abandoned */
  constructor(forms: Automaton, maxPassedOver: number) {
    this.#forms = forms;
    this.#maxPassedOver = maxPassedOver;
  }

  /** @returns the text that can be released by now */
  push(piece: string): string {
    const text = this.#held + piece;
    const kept: string[] = [];
    let keptTo = 0;
    for (let at = this.#held.length; at < text.length; at += 1) {
      const code = text.charCodeAt(at) - firstCode;
      if (code < 0 || code >= codes) {
        this.#passedOver += 1;
        this.#state = this.#passedOver > this.#maxPassedOver ? 0 : this.#state;
        continue;
      }
      this.#passedOver = 0;
      this.#last = at;
      this.#state = this.#forms.step(this.#state, code);
      const length = this.#forms.found(this.#state);
      if (length > 0) {
        kept.push(text.slice(keptTo, startOf(text, at, length)), removed);
        keptTo = at + 1;
        this.#state = 0;
      }
    }
    const from = this.#state === 0 ? text.length : startOf(text, this.#last, this.#forms.depth(this.#state));
    this.#held = text.slice(from);
    this.#last -= from;
    return kept.join('') + text.slice(keptTo, from);
  }

  /** Releases the held text: no form was completed. */
  end(): string {
    const rest = this.#held;
    this.#held = '';
    this.#state = 0;
    return rest;
  }
}

/** Start of the last `length` printable characters before `end`. */
function startOf(text: string, end: number, length: number): number {
  let start = end;
  for (let left = length - 1; left > 0;) {
    start -= 1;
    const code = text.charCodeAt(start) - firstCode;
    left -= code >= 0 && code < codes ? 1 : 0;
  }
  return start;
}
