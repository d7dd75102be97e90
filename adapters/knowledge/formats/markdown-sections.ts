import MarkdownIt, { type Token } from 'markdown-it';
import type { Section } from '#domain/knowledge/ingestion/document-extractor.ts';
import { HeadingTrail } from './heading-trail.ts';

/** Only its pass over the lines is used for a document: in time and memory it grows with the text. */
const parser = new MarkdownIt('commonmark');
parser.core.ruler.enableOnly(['normalize', 'block']);
/** The line ends that the parser recognises. */
const lineEnd = /\r\n?|\n/g;
/**
 * In UTF-16 units. A longer heading is not used as a title: parsing its markup takes longer than the pass over lines.
 */
const maxTitleLength = 1_000;

/** Splits markdown at its CommonMark headings; headings within a list, a quote or code do not count. */
export function markdownSections(text: string): Section[] {
  const starts = lineStarts(text);
  const startOf = (line: number) => starts[line] ?? text.length;
  const sections: Section[] = [];
  const trail = new HeadingTrail();
  let start = 0;
  /** The last heading, while nothing is below it. */
  let bare: { level: number; start: number } | null = null;
  const close = (end: number, nextLevel: number): void => {
    const isBlank = text.slice(start, end).trim() === '';
    // A heading with neither text nor headings below it would be lost.
    const from = isBlank && bare !== null && nextLevel <= bare.level ? bare.start : start;
    if (text.slice(from, end).trim() !== '') {
      sections.push({ heading: trail.path, page: null, anchor: trail.anchor, start: from, end });
    }
  };
  const tokens = parser.parse(text, {});
  for (const [index, { type, level: depth, tag, map }] of tokens.entries()) {
    if (type === 'heading_open' && depth === 0 && map !== null) {
      const level = Number(tag.slice(1));
      close(startOf(map[0]), level);
      trail.enter(level, plainTitle(tokens[index + 1]?.content ?? ''));
      bare = { level, start: startOf(map[0]) };
      start = startOf(map[1]);
    }
  }
  close(text.length, 0);
  return sections;
}

function lineStarts(text: string): number[] {
  return [0, ...Array.from(text.matchAll(lineEnd), ({ index, 0: end }) => index + end.length)];
}

/** A title without its markup. */
function plainTitle(markdown: string): string {
  const tokens: Token[] = [];
  parser.inline.parse(markdown.slice(0, maxTitleLength), parser, {}, tokens);
  return tokens
    .map(({ type, content }) => (type === 'softbreak' || type === 'hardbreak' ? ' ' : content))
    .join('')
    .trim();
}
