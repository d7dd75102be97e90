import { secretForms } from './secret-forms.ts';
import { codes, firstCode, SecretStream } from './secret-stream.ts';

/** Finds all forms of the sent secrets in one pass over a text, with an Aho–Corasick automaton. */
export class SecretRemover {
  /** Children of the root, by code; other states keep their children as lists, since few have more than one. */
  readonly #first = new Int32Array(codes);
  readonly #code: Int32Array;
  readonly #child: Int32Array;
  readonly #sibling: Int32Array;
  readonly #fallback: Int32Array;
  /** For each state the length of the matched prefix. */
  readonly #depth: Int32Array;
  /** For each state the length of the longest form that ends there, 0 for none. */
  readonly #found: Int32Array;

  constructor(sent: Iterable<string>) {
    const forms = [...sent].flatMap(secretForms);
    const states = 1 + forms.reduce((sum, form) => sum + form.length, 0);
    this.#code = new Int32Array(states);
    this.#child = new Int32Array(states);
    this.#sibling = new Int32Array(states);
    this.#fallback = new Int32Array(states);
    this.#depth = new Int32Array(states);
    this.#found = new Int32Array(states);
    this.#plant(forms);
    this.#link();
  }

  /**
   * Skips characters that are not printable ASCII: a secret is also found when line breaks, part boundaries or hidden
   * characters split it.
   */
  text(text: string): string {
    const stream = this.stream();
    return stream.push(text) + stream.end();
  }

  /** Like `text`, for a text that arrives in chunks with any boundaries. */
  stream(maxPassedOver = Number.POSITIVE_INFINITY): SecretStream {
    return new SecretStream(
      {
        step: (state, code) => this.#step(state, code),
        found: (state) => this.#found[state] ?? 0,
        depth: (state) => this.#depth[state] ?? 0,
      },
      maxPassedOver,
    );
  }

  /** Like `text`, for every string and every member name of a JSON value. */
  value<T>(value: T): T {
    return this.#value(value) as T;
  }

  #value(value: unknown): unknown {
    if (typeof value === 'string') {
      return this.text(value);
    }
    if (Array.isArray(value)) {
      return value.map((each) => this.#value(each));
    }
    return typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([name, each]) => [this.text(name), this.#value(each)]))
      : value;
  }

  #plant(forms: readonly string[]): void {
    let last = 0;
    for (const form of forms) {
      let state = 0;
      for (let at = 0; at < form.length; at += 1) {
        const code = form.charCodeAt(at) - firstCode;
        let next = this.#childOf(state, code);
        if (next === 0) {
          last += 1;
          next = last;
          this.#code[next] = code;
          this.#depth[next] = at + 1;
          if (state === 0) {
            this.#first[code] = next;
          } else {
            this.#sibling[next] = this.#child[state] ?? 0;
            this.#child[state] = next;
          }
        }
        state = next;
      }
      this.#found[state] = form.length;
    }
  }

  /** Sets the failure links, breadth first: the longest proper suffix that is a prefix of a form. */
  #link(): void {
    const queue = [...this.#first].filter((state) => state !== 0);
    for (const state of queue) {
      for (let child = this.#child[state] ?? 0; child !== 0; child = this.#sibling[child] ?? 0) {
        const other = this.#step(this.#fallback[state] ?? 0, this.#code[child] ?? 0);
        this.#fallback[child] = other;
        this.#found[child] = Math.max(this.#found[child] ?? 0, this.#found[other] ?? 0);
        queue.push(child);
      }
    }
  }

  #step(from: number, code: number): number {
    for (let state = from; ; state = this.#fallback[state] ?? 0) {
      const next = this.#childOf(state, code);
      if (next !== 0 || state === 0) {
        return next;
      }
    }
  }

  #childOf(state: number, code: number): number {
    if (state === 0) {
      return this.#first[code] ?? 0;
    }
    let child = this.#child[state] ?? 0;
    while (child !== 0 && this.#code[child] !== code) {
      child = this.#sibling[child] ?? 0;
    }
    return child;
  }
}
