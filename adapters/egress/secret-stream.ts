/** Printable ASCII without the space. */
export const firstCode = 33;
export const codes = 94;
const removed = '[credential removed]';

/** The automaton of the forms that are looked for; 0 is its beginning. */
interface Automaton {
  step(state: number, code: number): number;
  /** Of the longest form that ends there, 0 for none. */
  found(state: number): number;
  /** How much of a form leads there. */
  depth(state: number): number;
}

/** Removes forms from a text that comes in pieces: what may be the beginning of one is held until that is known. */
export class SecretStream {
  readonly #forms: Automaton;
  readonly #maxPassedOver: number;
  #state = 0;
  #held = '';
  /** Place in what is held of the last character that counts, and how many have been passed over since. */
  #last = -1;
  #passedOver = 0;

  /** @param maxPassedOver characters that do not count, in a row, behind which a form has not gone on */
  constructor(forms: Automaton, maxPassedOver: number) {
    this.#forms = forms;
    this.#maxPassedOver = maxPassedOver;
  }

  /** @returns what can be told by now */
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

  /** What was held: no form has come of it. */
  end(): string {
    const rest = this.#held;
    this.#held = '';
    this.#state = 0;
    return rest;
  }
}

/** Where the last `length` printable characters up to `end` begin. */
function startOf(text: string, end: number, length: number): number {
  let start = end;
  for (let left = length - 1; left > 0;) {
    start -= 1;
    const code = text.charCodeAt(start) - firstCode;
    left -= code >= 0 && code < codes ? 1 : 0;
  }
  return start;
}
