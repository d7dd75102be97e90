import type { AnswerLimits } from './answer-limits.ts';

const lineFeed = 10;
const carriageReturn = 13;
const quote = 34;
const comma = 44;
const openBracket = 91;
const backslash = 92;
const openBrace = 123;

type Limits = Pick<AnswerLimits, 'maxEventBytes' | 'maxEventValues' | 'maxEvents'>;

/**
 * Measures the events of a `text/event-stream`: what a reader must buffer until an empty line ends an event. An answer
 * of another type counts as one event.
 */
export class EventMeter {
  readonly #limits: Limits;
  #events = 0;
  #length = 0;
  #values = 0;
  #isLineEmpty = true;
  #isInText = false;
  #isEscaped = false;
  #previous = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Bytes of the event that has not ended yet. */
  get length(): number {
    return this.#length;
  }

  /** @returns whether a limit is exceeded */
  passes(chunk: Uint8Array): boolean {
    const { maxEventBytes, maxEventValues, maxEvents } = this.#limits;
    const maxBytes = maxEventBytes ?? Infinity;
    const maxValues = maxEventValues ?? Infinity;
    for (const byte of chunk) {
      this.#length += 1;
      if (byte === lineFeed && this.#previous === carriageReturn) {
        this.#length -= 1;
      } else if (byte === lineFeed || byte === carriageReturn) {
        this.#endLine();
      } else {
        this.#isLineEmpty = false;
        this.#readJson(byte);
      }
      this.#previous = byte;
      if (this.#length > maxBytes || this.#values > maxValues) {
        return true;
      }
    }
    return this.#events > (maxEvents ?? Infinity);
  }

  #endLine(): void {
    if (this.#isLineEmpty) {
      this.#events += 1;
      this.#length = 0;
      this.#values = 0;
    }
    this.#isLineEmpty = true;
    // A JSON string never spans a line end.
    this.#isInText = false;
    this.#isEscaped = false;
  }

  /** Counts values by the characters that precede them. */
  #readJson(byte: number): void {
    if (this.#isInText) {
      this.#isInText = byte !== quote || this.#isEscaped;
      this.#isEscaped = byte === backslash && !this.#isEscaped;
    } else if (byte === quote) {
      this.#isInText = true;
    } else if (byte === comma || byte === openBracket || byte === openBrace) {
      this.#values += 1;
    }
  }
}
