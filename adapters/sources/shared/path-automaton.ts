const slash = 0x2f;
const word = 32;

/**
 * Several patterns, as states of one automaton that is run with a bit for each: all states move on with one character
 * at once, so that no pattern makes it go back. A path ends each of its parts with a slash.
 */
export class PathAutomaton {
  /** A pattern is here at its beginning. */
  readonly #first: number[] = [];
  /** A pattern that is here at the end of a path fits. */
  readonly #last: number[] = [];
  /** Which go on with one character, by it. */
  readonly #steps = new Map<number, number[]>();
  /** Which go on with any character of a part, stay with any of a part, and stay with any parts. */
  readonly #any: number[] = [];
  readonly #stars: number[] = [];
  readonly #parts: number[] = [];
  #size = 0;

  begin(): void {
    this.#first.push(this.#size);
  }

  character(point: number): void {
    const steps = this.#steps.get(point) ?? [];
    steps.push(this.#size);
    this.#steps.set(point, steps);
    this.#size += 1;
  }

  anyCharacter(): void {
    this.#any.push(this.#size);
    this.#size += 1;
  }

  anyCharacters(): void {
    this.#stars.push(this.#size);
  }

  anyParts(): void {
    this.#parts.push(this.#size);
    this.#size += 1;
  }

  end(): void {
    this.#last.push(this.#size);
    this.#size += 1;
  }

  /** Whether one of the patterns fits the characters of a path. */
  compile(): (text: readonly number[]) => boolean {
    const words = Math.ceil(this.#size / word);
    const bits = (...lists: (readonly number[])[]) => bitsOf(lists.flat(), words);
    const [first, last, parts] = [bits(this.#first), bits(this.#last), bits(this.#parts)];
    const [stays, step] = [bits(this.#stars, this.#parts), bits(this.#any)];
    const steps = new Map([...this.#steps].map(([point, list]) => [point, bits(list, this.#any)]));
    const atSlash = bits(this.#steps.get(slash) ?? []);
    let [now, next] = [new Int32Array(words), new Int32Array(words)];
    return (text) => {
      now.set(first);
      passParts(now, parts);
      for (const point of text) {
        const isEnd = point === slash;
        const isAlive = isEnd
          ? move(now, next, atSlash, parts)
          : move(now, next, steps.get(point) ?? step, stays);
        if (!isAlive) return false;
        if (isEnd) passParts(next, parts);
        [now, next] = [next, now];
      }
      return now.some((each, index) => (each & (last[index] ?? 0)) !== 0);
    };
  }
}

/** @returns whether any state is left */
function move(now: Int32Array, next: Int32Array, steps: Int32Array, stays: Int32Array): boolean {
  let carry = 0;
  let alive = 0;
  for (let at = 0; at < now.length; at += 1) {
    const state = now[at] ?? 0;
    if (state === 0) {
      next[at] = carry;
      alive |= carry;
      carry = 0;
      continue;
    }
    const moving = state & (steps[at] ?? 0);
    const moved = (moving << 1) | carry | (state & (stays[at] ?? 0));
    carry = moving >>> 31;
    next[at] = moved;
    alive |= moved;
  }
  return alive !== 0;
}

/** Between two parts, any parts may also be none. */
function passParts(states: Int32Array, parts: Int32Array): void {
  let carry = 0;
  for (let at = 0; at < states.length; at += 1) {
    const passing = (states[at] ?? 0) & (parts[at] ?? 0);
    states[at] = (states[at] ?? 0) | (passing << 1) | carry;
    carry = passing >>> 31;
  }
}

function bitsOf(list: readonly number[], words: number): Int32Array {
  const bits = new Int32Array(words);
  for (const each of list) bits[each >>> 5] = (bits[each >>> 5] ?? 0) | (1 << (each & 31));
  return bits;
}
