import MarkdownIt from 'markdown-it';
import { htmlParagraphs } from './html-paragraphs.ts';

const parser = new MarkdownIt('commonmark');
parser.core.ruler.enableOnly(['normalize', 'block']);

/** A markdown text whose tables of HTML are paragraphs, one for each row; those within lists and quotes stay. */
export function withoutHtmlTables(text: string): string {
  if (!/<table[\s>]/i.test(text)) {
    return text;
  }
  const lines = text.split(/(?<=\n|\r(?!\n))/);
  const starts = [0];
  for (const line of lines) starts.push((starts.at(-1) ?? 0) + line.length);
  const parts: string[] = [];
  let done = 0;
  for (const { type, level, map } of parser.parse(text, {})) {
    const start = starts[map?.[0] ?? 0] ?? 0;
    if (type !== 'html_block' || level > 0 || map === null || start < done) continue;
    const found = /^\s*<table[\s>]/i.exec(text.slice(start, start + 200));
    const end = found === null ? null : endOfTable(text, start);
    if (end === null) continue;
    const paragraphs = htmlParagraphs(text.slice(start, end));
    if (paragraphs.some(({ level: heading }) => heading > 0)) continue;
    const rows = paragraphs.flatMap((each) => (each.text.trim() === '' ? [] : [plainLine(each.text)]));
    parts.push(text.slice(done, start), rows.join('\n\n'), '\n');
    done = end;
  }
  return [...parts, text.slice(done)].join('');
}

/** Where the line of the end tag ends: a blank line within a table ends a block of markdown, and not the table. */
function endOfTable(text: string, start: number): number | null {
  const tags = /<(\/?)table(?=[\s>])/gi;
  tags.lastIndex = start;
  let depth = 0;
  for (let tag = tags.exec(text); tag !== null; tag = tags.exec(text)) {
    depth += tag[1] === '/' ? -1 : 1;
    if (depth > 0) continue;
    const end = text.indexOf('\n', tag.index);
    return end === -1 ? text.length : end + 1;
  }
  return null;
}

/** A row that begins like a heading, a quote or a list is none. */
const plainLine = (line: string): string => line.trim().replace(/^(?=[#>*+-])/, '\\');
