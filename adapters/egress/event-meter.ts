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
 * Measures the events of a `text/event-stream`: what a reader must keep until an empty line ends one. An answer that is
 * no such stream is one event.
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

  /** Of the event that has not ended yet, in bytes. */
  get length(): number {
    return this.#length;
  }

  /** @returns whether a limit is passed */
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
    // No text in JSON goes over the end of a line.
    this.#isInText = false;
    this.#isEscaped = false;
  }

  /** Values are counted by what stands before them. */
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
