const lineFeed = 10;
const carriageReturn = 13;
/** The kind of a JSON-RPC message occurs within this many bytes. */
const maxHead = 256;

/**
 * Buffers the beginning of the current server-sent event, or of the whole body: it decides whether a truncated message
 * was an answer.
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

  /** Null for a message that is not an answer, such as a notification. */
  get kind(): 'result' | 'error' | null {
    const [, member] = /"(result|error|method)"\s*:/.exec(Buffer.from(this.#bytes).toString('latin1')) ?? [];
    return member === 'result' || member === 'error' ? member : null;
  }
}
