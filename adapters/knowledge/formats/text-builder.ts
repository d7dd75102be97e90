import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import {
  ExtractionFailure,
  type ExtractedText,
  type Place,
  type Section,
} from '#domain/knowledge/ingestion/document-extractor.ts';

/** Max UTF-16 units of the text of one document. */
export const maxTextLength = 20_000_000;

export interface Position extends Place {
  heading: string | null;
}

/** A text without the places at which its words may be broken: a search would take them for several words. */
export const withoutSoftHyphens = (text: string): string => text.replaceAll('\u00AD', '');

/** Collects the text of a document with its sections. */
export class TextBuilder {
  readonly #parts: string[] = [];
  readonly #sections: Section[] = [];
  #length = 0;

  /** @throws `ExtractionFailure` too_large */
  add({ heading, ...place }: Position, written: string): void {
    const body = withoutSoftHyphens(written);
    if (body.trim() === '') {
      return;
    }
    if (this.#length + body.length > maxTextLength) {
      throw new ExtractionFailure('too_large');
    }
    const start = this.#length;
    this.#parts.push(body, '\n\n');
    this.#length += body.length + 2;
    const shown = heading === null ? null : withoutSoftHyphens(heading);
    this.#sections.push({ heading: shown, ...place, start, end: start + body.length });
  }

  /** Adds another document, such as an attachment, within `outer`; null: as a part of this one. */
  addText({ text, sections }: ExtractedText, outer: string | null): void {
    for (const { heading, page, anchor, start, end } of sections) {
      const within = [outer, anchor].filter((each) => each !== null).join(' › ') || null;
      this.add({ heading, page, anchor: within }, text.slice(start, end));
    }
  }

  build(): ExtractedText {
    return { text: cleanText(this.#parts.join('')), sections: this.#sections };
  }
}
