import { chunkSize } from '#domain/knowledge/ingestion/chunk-text.ts';
import type { TextBuilder } from './text-builder.ts';

export interface Grouping<At> {
  builder: TextBuilder;
  heading?: string | null;
  page?: number | null;
  anchor: (first: At, last: At, all: readonly At[]) => string;
  /** Between two units. */
  separator?: string;
}

/**
 * Groups rows, records or lines into sections that fit into one passage each, so that the anchor of a passage names
 * exactly what it contains.
 */
export class UnitGroup<At> {
  readonly #grouping: Grouping<At>;
  #units: string[] = [];
  #size = 0;
  #places: At[] = [];

  constructor(grouping: Grouping<At>) {
    this.#grouping = grouping;
  }

  add(text: string, at: At): void {
    if (this.#places.length > 0 && this.#size + text.length > chunkSize) {
      this.end();
    }
    this.#units.push(text);
    this.#size += text.length + 1;
    this.#places.push(at);
  }

  /** Ends the current section. */
  end(): void {
    const [first, last] = [this.#places[0], this.#places.at(-1)];
    if (first === undefined || last === undefined) {
      return;
    }
    const { builder, heading = null, page = null, anchor, separator = '\n' } = this.#grouping;
    builder.add({ heading, page, anchor: anchor(first, last, this.#places) }, this.#units.join(separator));
    this.#units = [];
    this.#size = 0;
    this.#places = [];
  }
}

/** `row 3` or `rows 3-5`. */
export const rangeName = (unit: string, first: number, last: number): string =>
  first === last ? `${unit} ${first}` : `${unit}s ${first}-${last}`;
