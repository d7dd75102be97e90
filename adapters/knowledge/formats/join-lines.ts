import { brokenWord, WordCounts } from './broken-words.ts';

/** Parts of an address of the web, of mail or of a file. */
const address = /[/@\\_=]|[\p{L}\p{N}]\.[\p{L}\p{N}]/u;
/** Characters of an address that are looked at. */
const maxAddress = 200;
/** Before them a hyphen stands for a part that comes later: `pre- and post-`. */
const conjunctions = new Set(
  'and or to und oder bzw sowie et ou y e o u en of och og eller i oraz lub ja tai'.split(' '),
);

/**
 * The texts of pages: the lines of a sentence become one line again, and broken words whole. Whether a hyphen at the end
 * of a line belongs to its word is decided by what the rest of the document has.
 */
export function joinPages(pages: readonly (readonly string[])[]): string[] {
  const trimmed = pages.map((lines) => lines.map((line) => line.trim()));
  const counts = new WordCounts(trimmed);
  return trimmed.map((lines) => joinLines(lines, counts));
}

function joinLines(lines: readonly string[], counts: WordCounts): string {
  const parts: string[] = [];
  let last = '';
  for (const line of lines) {
    const link = linkOf(last, line, counts);
    if (link === '') parts.push((parts.pop() ?? '').slice(0, -1));
    if (link === ' ' || link === '\n') parts.push(link);
    parts.push(line);
    last = line;
  }
  return parts.join('').trim();
}

/** What two lines have between them: '' for nothing instead of the hyphen, '-' for the hyphen that is there. */
function linkOf(last: string, line: string, counts: WordCounts): '' | '-' | ' ' | '\n' {
  if (last.endsWith('\u00AD') && /^\p{L}/u.test(line)) return '';
  const word = brokenWord(last, line);
  const continues = /^\p{Ll}/u.test(line) && last !== '' && !/[.:;!?]$/.test(last);
  if (word === null) return continues ? ' ' : '\n';
  const [whole, hyphenated] = [counts.whole(word), counts.hyphenated(word)];
  // Capitals and digits may begin another cell or entry.
  if (!continues) {
    // A range of numbers.
    if (/\p{N}$/u.test(word.left) && /^\p{N}/u.test(word.right)) return hyphenated > 0 ? '-' : '\n';
    if (hyphenated > whole) return '-';
    return whole > 0 && word.left.length > 1 && word.right.length > 1 ? '' : '\n';
  }
  if (isAddress(last)) return '-';
  if (whole > 0 && whole >= hyphenated) return '';
  if (hyphenated > 0) return '-';
  if (conjunctions.has(word.right)) return ' ';
  return /\p{N}$/u.test(word.left) || counts.areWords(word) ? '-' : '';
}

/** Whether the last word of a line is part of an address: its hyphens are its own. */
function isAddress(line: string): boolean {
  const end = line.slice(-maxAddress);
  return address.test(end.slice(end.lastIndexOf(' ') + 1));
}
