/** A piece of text of a page, as PDF.js gives it: each change of font or place begins one. */
export interface TextRun {
  str: string;
  /** `ltr`, `rtl` or `ttb`. */
  dir: string;
  width: number;
  /** Its font's size and angle, and where it begins. */
  transform: readonly number[];
  hasEOL: boolean;
}

/** Where a piece lies, along the direction of writing and across it. */
interface Extent {
  from: number;
  to: number;
  /** Of the baseline; greater ones are higher. */
  height: number;
  /** Of the font. */
  size: number;
}

/** In parts of a font's size: a gap that shows as a blank, and a distance of baselines that shows as another line. */
const blank = 0.15;
const lineStep = 0.5;
/** A raised number of a smaller font is a reference to a note. */
const raised = 0.2;
const smaller = 0.85;
/** Characters of what is drawn twice. */
const maxRepeated = 500;

/**
 * The lines of a page. Pieces that stand apart, such as a page number and the name beside it, do not become one word,
 * and what is drawn twice at one place, to look bold, is there once.
 */
export function linesOf(runs: readonly TextRun[]): string[] {
  const lines: string[] = [];
  /** Of the line, of any number: none is looked at again but the last. */
  let parts: string[] = [];
  let before: TextRun | null = null;
  const end = () => {
    lines.push(parts.join(''));
    parts = [];
  };
  for (const run of runs) {
    if (run.str.trim() === '') {
      if (run.str !== '') parts.push(run.str);
    } else {
      const link = before === null ? '' : between(before, run);
      if (link === '\n') end();
      const text = before === null ? run.str : run.str.slice(repeated(before, run));
      const last = parts.at(-1)?.at(-1);
      if (link === ' ' && last !== undefined && !/\s/.test(last) && !/^\s/.test(text)) parts.push(' ');
      if (text !== '') parts.push(text);
      before = run;
    }
    if (run.hasEOL) {
      end();
      before = null;
    }
  }
  end();
  return lines;
}

function between(before: TextRun, run: TextRun): '' | ' ' | '\n' {
  if (before.dir === 'ttb' || run.dir === 'ttb') return '';
  if (angleOf(before) !== angleOf(run)) return '\n';
  const [one, other] = [extentOf(before), extentOf(run)];
  const size = Math.max(one.size, other.size);
  const step = other.height - one.height;
  if (Math.abs(step) >= size * lineStep) return '\n';
  const backwards = one.from - other.to;
  const isBidirectional = before.dir === 'rtl' || run.dir === 'rtl';
  if (backwards > 0 && !isBidirectional) return '\n';
  const gap = Math.max(other.from - one.to, backwards);
  // A letter of Latin beside one of Hebrew or Arabic belongs to another word.
  const changes = before.dir !== run.dir && /\p{L}$/u.test(before.str) && /^\p{L}/u.test(run.str);
  if (changes || gap > Math.min(one.size, other.size) * blank) return ' ';
  const begins = step > size * raised && other.size < one.size * smaller;
  const ends = -step > size * raised && one.size < other.size * smaller;
  if (begins && /\p{L}{3}$/u.test(before.str) && /^\d/.test(run.str)) return ' ';
  return ends && /\d$/.test(before.str) && /^\p{L}/u.test(run.str) ? ' ' : '';
}

/** Number of characters at the beginning of a piece that are drawn where the piece before ends with the same ones. */
function repeated(before: TextRun, run: TextRun): number {
  if (angleOf(before) !== angleOf(run) || run.dir !== 'ltr' || before.dir !== 'ltr') return 0;
  const [one, other] = [extentOf(before), extentOf(run)];
  if (Math.abs(one.height - other.height) > other.size * 0.1 || other.from < one.from) return 0;
  const shared = one.to - other.from;
  const width = run.width / run.str.length;
  if (width <= 0) return 0;
  for (let length = Math.min(before.str.length, run.str.length, maxRepeated); length > 0; length -= 1) {
    const fits = Math.abs(shared / width - length) < Math.max(0.6, length * 0.3);
    if (fits && before.str.endsWith(run.str.slice(0, length))) return length;
  }
  return 0;
}

/** In degrees. */
function angleOf({ transform: [a = 1, b = 0] }: TextRun): number {
  return Math.round((Math.atan2(b, a) * 180) / Math.PI);
}

function extentOf({ transform: [a = 1, b = 0, c = 0, d = 1, x = 0, y = 0], width }: TextRun): Extent {
  const length = Math.hypot(a, b) || 1;
  const [along, up] = [a / length, b / length];
  const from = x * along + y * up;
  return { from, to: from + width, height: y * along - x * up, size: Math.hypot(c, d) };
}
