import { split, type SplitOptions } from 'llm-splitter';
import type { ExtractedText, Section } from './document-extractor.ts';

export interface Chunk {
  heading: string | null;
  text: string;
  /** UTF-16 offsets: `extracted.text.slice(start, end)` is `text`. */
  start: number;
  end: number;
}

/** Characters (code points) of a chunk at most. */
const chunkSize = 1_000;
/** What the splitter aims at: it does not count what it joins runs with. */
const splitSize = 900;
const longestHeading = 300;

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });

const splitter: NonNullable<SplitOptions['splitter']> = (input) => {
  let start = 0;
  return Array.from(input, (text) => {
    const part = { text, start };
    start += text.length;
    return part;
  });
};

/**
 * Cuts each section into runs of whole sentences; a sentence is cut only when it alone is longer than a
 * chunk, and then between code points.
 */
export function chunkText(extracted: ExtractedText): Chunk[] {
  return extracted.sections.flatMap((section) => chunkSection(extracted.text, section));
}

function chunkSection(text: string, section: Section): Chunk[] {
  const pieces = Array.from(
    sentences.segment(text.slice(section.start, section.end)),
    ({ segment }) => segment,
  );
  const heading = section.heading?.slice(0, longestHeading).toWellFormed() ?? null;
  return split(pieces, { chunkSize: splitSize, chunkStrategy: 'paragraph', splitter })
    .flatMap((piece) => bounded(text, section.start + piece.start, section.start + piece.end))
    .flatMap(({ start, end }) => {
      const body = text.slice(start, end).trimEnd();
      return body.trim() === '' ? [] : [{ heading, text: body, start, end: start + body.length }];
    });
}

/** A run that is still too long is cut at its last white space, or between two characters where it has none. */
function bounded(text: string, start: number, end: number): { start: number; end: number }[] {
  const head = Array.from(text.slice(start, end)).slice(0, chunkSize).join('');
  if (start + head.length === end) {
    return [{ start, end }];
  }
  const space = head.search(/\s\S*$/u);
  const cut = start + (space > 0 ? space : head.length);
  return [{ start, end: cut }, ...bounded(text, cut, end)];
}
