const lineFeed = 10;
const carriageReturn = 13;
/** A JSON-RPC message says within so many bytes what it is. */
const maxHead = 256;

/**
 * The beginning of the server-sent event, or of the whole body, that is being read: of an answer that was cut off it
 * says whether it was one.
 */
export class AnswerHead {
  #bytes: number[] = [];
  #isLineEmpty = true;
  #previous = 0;

  read(chunk: Uint8Array): void {
    for (const byte of chunk) {
      const isBreak = byte === lineFeed || byte === carriageReturn;
      const isPair = byte === lineFeed && this.#previous === carriageReturn;
      if (isBreak && !isPair && this.#isLineEmpty) {
        this.#bytes = [];
      } else if (this.#bytes.length < maxHead) {
        this.#bytes.push(byte);
      }
      this.#isLineEmpty = isBreak;
      this.#previous = byte;
    }
  }

  /** Null for what is no answer, such as a notification. */
  get kind(): 'result' | 'error' | null {
    const [, member] = /"(result|error|method)"\s*:/.exec(Buffer.from(this.#bytes).toString('latin1')) ?? [];
    return member === 'result' || member === 'error' ? member : null;
  }
}
