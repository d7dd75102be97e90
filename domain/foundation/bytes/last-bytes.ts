/** Keeps the last bytes of a stream, in time proportional to its length however small its pieces are. */
export class LastBytes {
  readonly #max: number;
  /** Twice as much as is kept: what is kept moves to its begin once in as many bytes. */
  readonly #bytes: Buffer;
  #length = 0;

  constructor(max: number) {
    this.#max = max;
    this.#bytes = Buffer.alloc(2 * max);
  }

  add(piece: Uint8Array): void {
    const last = piece.subarray(-this.#max);
    if (this.#length + last.byteLength > this.#bytes.byteLength) {
      this.#bytes.copyWithin(0, this.#length - this.#max, this.#length);
      this.#length = this.#max;
    }
    this.#bytes.set(last, this.#length);
    this.#length += last.byteLength;
  }

  /** They are of this object: a later piece may change them. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(Math.max(0, this.#length - this.#max), this.#length);
  }
}
