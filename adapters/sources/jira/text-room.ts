import { TooLong } from '../shared/json-api.ts';

/** How much longer a text may become, in UTF-16 units: no text has fewer bytes in UTF-8. */
export class TextRoom {
  #left: number;

  constructor(maxLength: number) {
    this.#left = maxLength;
  }

  /** Counts a part before it is made. @throws TooLong */
  take(length: number): void {
    if (length > this.#left) {
      throw new TooLong();
    }
    this.#left -= length;
  }

  /** Counts a text. @throws TooLong */
  takeText(text: string): string {
    this.take(text.length);
    return text;
  }
}
