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
  const close = (end: number): void => {
    if (text.slice(start, end).trim() !== '') {
      sections.push({ heading: trail.path, page: null, anchor: trail.anchor, start, end });
    }
  };
  const tokens = parser.parse(text, {});
  for (const [index, { type, level: depth, tag, map }] of tokens.entries()) {
    if (type === 'heading_open' && depth === 0 && map !== null) {
      close(startOf(map[0]));
      trail.enter(Number(tag.slice(1)), plainTitle(tokens[index + 1]?.content ?? ''));
      start = startOf(map[1]);
    }
  }
  close(text.length);
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
