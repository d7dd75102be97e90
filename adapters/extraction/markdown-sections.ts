import type { Section } from '#domain/knowledge/document-extractor.ts';

interface Line {
  text: string;
  start: number;
  end: number;
}

interface Heading {
  level: number;
  title: string;
}

interface FoundHeading extends Heading {
  /** Where its first line begins. */
  start: number;
}

/** Cuts markdown at its headings; a line with `#` inside a code fence is none. */
export function markdownSections(text: string): Section[] {
  const sections: Section[] = [];
  const trail: Heading[] = [];
  let start = 0;
  let fence: string | null = null;
  let previous: Line | null = null;
  const close = (end: number): void => {
    if (text.slice(start, end).trim() !== '') {
      sections.push({ heading: trail.map(({ title }) => title).join(' › ') || null, start, end });
    }
  };
  for (const line of lines(text)) {
    fence = fenceAfter(fence, line.text);
    const heading: FoundHeading | null = fence === null ? headingAt(line, previous) : null;
    if (heading !== null) {
      close(heading.start);
      while ((trail.at(-1)?.level ?? 0) >= heading.level) {
        trail.pop();
      }
      trail.push(heading);
      start = line.end;
    }
    previous = fence === null && heading === null ? line : null;
  }
  close(text.length);
  return sections;
}

function* lines(text: string): Generator<Line> {
  let start = 0;
  while (start < text.length) {
    const feed = text.indexOf('\n', start);
    const end = feed === -1 ? text.length : feed + 1;
    yield { text: text.slice(start, end).trimEnd(), start, end };
    start = end;
  }
}

function fenceAfter(open: string | null, line: string): string | null {
  const mark = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
  const [, fence = '', rest = ''] = mark ?? [];
  if (mark === null) {
    return open;
  }
  if (open === null) {
    return fence;
  }
  return fence.startsWith(open) && rest.trim() === '' ? null : open;
}

function headingAt(line: Line, previous: Line | null): FoundHeading | null {
  const hashes = /^ {0,3}(#{1,6})[ \t]+(.*)$/.exec(line.text);
  if (hashes !== null) {
    const [, marks = '', title = ''] = hashes;
    return { level: marks.length, title: plainTitle(title.replace(/[ \t]#+$/, '')), start: line.start };
  }
  const underline = /^ {0,3}(=+|-{2,})$/.exec(line.text);
  if (underline === null || previous === null || !/^ {0,3}[\p{L}\p{N}"'*_`[(]/u.test(previous.text)) {
    return null;
  }
  return {
    level: line.text.includes('=') ? 1 : 2,
    title: plainTitle(previous.text),
    start: previous.start,
  };
}

function plainTitle(title: string): string {
  return title
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*_`]+/g, '')
    .trim();
}
