import MarkdownIt from 'markdown-it';
import { htmlParagraphs } from './html-paragraphs.ts';

const parser = new MarkdownIt('commonmark');
parser.core.ruler.enableOnly(['normalize', 'block']);

/** Blocks that are no markdown within a table; lines of it that are far to the right look like code. */
const isPlain = /^(?:html_block|code_block)$/;

/**
 * A markdown text whose tables of HTML are paragraphs, one for each row; those within lists and quotes stay, and those
 * that have markdown in them.
 */
export function withoutHtmlTables(text: string): string {
  if (!/<table[\s>]/i.test(text)) {
    return text;
  }
  const lines = text.split(/(?<=\n|\r(?!\n))/);
  const starts = [0];
  for (const line of lines) starts.push((starts.at(-1) ?? 0) + line.length);
  const ends = endTags(text);
  const parts: string[] = [];
  let [read, copied, at] = [0, 0, 0];
  const tokens = parser.parse(text, {});
  const others = tokens.flatMap(({ type, level, map }) =>
    level > 0 || map === null || isPlain.test(type) ? [] : [starts[map[0]] ?? 0],
  );
  for (const { type, level, map } of tokens) {
    const start = starts[map?.[0] ?? 0] ?? 0;
    if (type !== 'html_block' || level > 0 || map === null || start < read) continue;
    const indent = /^\s*(?=<table[\s>])/i.exec(text.slice(start, start + 200))?.[0].length;
    const endTag = indent === undefined ? undefined : ends.get(start + indent);
    if (endTag === undefined) continue;
    // A blank line within a table ends a block of markdown, and not the table.
    read = endOfLine(text, endTag);
    while ((others[at] ?? text.length) < start) at += 1;
    if ((others[at] ?? text.length) < endTag) continue;
    const paragraphs = htmlParagraphs(text.slice(start, read));
    if (paragraphs.some(({ level: heading }) => heading > 0)) continue;
    const rows = paragraphs.flatMap((each) => (each.text.trim() === '' ? [] : [plainLine(each.text)]));
    parts.push(text.slice(copied, start), rows.join('\n\n'), '\n');
    copied = read;
  }
  return [...parts, text.slice(copied)].join('');
}

/** The place of each table's end tag by that of its start tag. */
function endTags(text: string): Map<number, number> {
  const ends = new Map<number, number>();
  const open: number[] = [];
  for (const { 1: slash, index } of text.matchAll(/<(\/?)table(?=[\s>])/gi)) {
    if (slash === '') {
      open.push(index);
      continue;
    }
    const start = open.pop();
    if (start !== undefined) ends.set(start, index);
  }
  return ends;
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end + 1;
}

/** A row that begins like a heading, a quote or a list is none. */
const plainLine = (line: string): string => line.trim().replace(/^(?=[#>*+-])/, '\\');
