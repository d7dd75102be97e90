import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import type { Chunk, ExtractedText, Section } from './document-extractor.ts';

/** Max characters (code points) of a chunk; chosen by `npm run bench:knowledge`. */
export const chunkSize = 450;
const maxHeadingLength = 300;
const maxAnchorLength = 300;

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });

/** A range of the text. */
interface Piece {
  start: number;
  end: number;
  /** Code points. */
  size: number;
}

/**
 * Cuts each section into runs of whole sentences. A sentence is cut only when it alone is longer than a chunk: at its
 * last white space, or between two code points if it has none. The cost is linear.
 */
export function chunkText(extracted: ExtractedText, size = chunkSize): Chunk[] {
  return extracted.sections.flatMap((section) => chunkSection(extracted.text, section, size));
}

function chunkSection(text: string, section: Section, max: number): Chunk[] {
  const { page } = section;
  // Formats name places by what authors write: a subject, a key, the name of a file.
  const heading = section.heading === null ? null : cleanText(section.heading.slice(0, maxHeadingLength));
  const anchor = section.anchor === null ? null : cleanText(section.anchor.slice(0, maxAnchorLength));
  const chunks: Chunk[] = [];
  for (const piece of runs(text, section, max)) {
    const written = text.slice(piece.start, piece.end);
    const body = written.trim();
    if (body !== '') {
      const start = piece.start + written.length - written.trimStart().length;
      chunks.push({ heading, page, anchor, text: body, start, end: start + body.length });
    }
  }
  return chunks;
}

function* runs(text: string, section: Section, max: number): Generator<Piece> {
  const { start, end } = section;
  if (end - start <= max) {
    // Whatever its sentences are: looking for them costs more than everything else of a short section.
    yield { start, end, size: end - start };
    return;
  }
  let run: Piece = { start, end: start, size: 0 };
  for (const sentence of shortSentences(text, section, max)) {
    if (run.size + sentence.size > max) {
      yield run;
      run = sentence;
    } else {
      run = { start: run.start, end: sentence.end, size: run.size + sentence.size };
    }
  }
  yield run;
}

/** The sentences of a section; too long ones in pieces. */
function* shortSentences(text: string, { start, end }: Section, max: number): Generator<Piece> {
  for (const { segment, index } of sentences.segment(text.slice(start, end))) {
    let from = start + index;
    const to = from + segment.length;
    while (from < to) {
      const piece = pieceAt(text, from, to, max);
      yield piece;
      from = piece.end;
    }
  }
}

/** The longest piece of `text` from `start` to `end` that fits into a chunk, cut at white space if more follows. */
function pieceAt(text: string, start: number, end: number, max: number): Piece {
  let piece: Piece = { start, end: start, size: 0 };
  let space: Piece | null = null;
  while (piece.end < end && piece.size < max) {
    const character = String.fromCodePoint(text.codePointAt(piece.end) ?? 0);
    if (piece.size > 0 && character.trim() === '') {
      space = piece;
    }
    piece = { start, end: piece.end + character.length, size: piece.size + 1 };
  }
  return piece.end < end && space !== null ? space : piece;
}
