import { getFormatDateInfo } from 'numfmt';
import { learnPattern } from './known-patterns.ts';
import { readXml } from './xml-reader.ts';

export interface CellStyles {
  date1904: boolean;
  /** How the cells of each style show numbers; null for plain ones. */
  numbers: readonly NumberStyle[];
  /** Cells that may still be shown by a pattern, which takes longer than everything else of a cell. */
  budget: { cells: number };
}

/** Dates that each country writes in its own way, or a pattern. */
type NumberStyle = 'date' | 'both' | Pattern | null;

export interface Pattern {
  /** Null: one of too many, whose cells are shown by `plain` alone. */
  pattern: string | null;
  /** Whether it shows a part of a date, and whether enough to say which day or month it is. */
  isDate: boolean;
  isDistinct: boolean;
  /** Whether it shows a time without a date. */
  isTime: boolean;
  plain: 'date' | 'time' | 'both' | 'percent' | null;
}

/** Characters of a number format. */
const maxFormat = 255;
/** Cells of a workbook that are shown by patterns; dates and numbers of further ones are plain. */
const maxFormatted = 200_000;
/** Different patterns of a workbook; cells of further ones are plain. */
const maxPatterns = 500;
/** Locales of numbers: one notation is used in a workbook. */
const locale = /\[\$([^[\]-]*)-[^[\]]*\]/g;

/** Patterns that files do not hold, as they are shown with the settings of the United States. */
const builtIn: ReadonlyMap<number, string> = new Map(
  [
    ...Object.entries({ 1: '0', 2: '0.00', 3: '#,##0', 4: '#,##0.00', 5: '"$"#,##0_);("$"#,##0)' }),
    ...Object.entries({ 6: '"$"#,##0_);("$"#,##0)', 7: '"$"#,##0.00_);("$"#,##0.00)', 9: '0%', 10: '0.00%' }),
    ...Object.entries({ 8: '"$"#,##0.00_);("$"#,##0.00)', 11: '0.00E+00', 12: '# ?/?', 13: '# ??/??' }),
    ...Object.entries({ 15: 'd-mmm-yy', 16: 'd-mmm', 17: 'mmm-yy', 18: 'h:mm AM/PM', 19: 'h:mm:ss AM/PM' }),
    ...Object.entries({ 20: 'h:mm', 21: 'h:mm:ss', 37: '#,##0_);(#,##0)', 38: '#,##0_);(#,##0)' }),
    ...Object.entries({
      39: '#,##0.00_);(#,##0.00)',
      40: '#,##0.00_);(#,##0.00)',
      45: 'mm:ss',
      46: '[h]:mm:ss',
    }),
    ...Object.entries({ 47: 'mm:ss.0', 48: '##0.0E+0' }),
  ].map(([id, pattern]) => [Number(id), pattern]),
);

export function readCellStyles(xml: string, date1904: boolean): CellStyles {
  const formats = new Map<number, string>();
  const numbers: NumberStyle[] = [];
  const patterns = new Set<string>();
  let inCells = false;
  readXml(xml, {
    open: (name, attributes) => {
      if (name === 'cellXfs') inCells = true;
      const id = Number(attributes().get('numFmtId') ?? 0);
      if (name === 'numFmt') formats.set(id, attributes().get('formatCode') ?? '');
      if (name === 'xf' && inCells) numbers.push(styleOf(id, formats.get(id), patterns));
    },
    close: (name) => {
      if (name === 'cellXfs') inCells = false;
    },
    text: () => {},
  });
  return { date1904, numbers, budget: { cells: maxFormatted } };
}

function styleOf(id: number, own: string | undefined, patterns: Set<string>): NumberStyle {
  const pattern = own ?? builtIn.get(id);
  if (pattern === undefined) {
    if (id === 22) return 'both';
    return id === 14 || (id >= 27 && id <= 36) || (id >= 50 && id <= 58) ? 'date' : null;
  }
  if (pattern.length > maxFormat || /^(?:general|@)?$/i.test(pattern.trim())) return null;
  const plain = plainStyle(pattern);
  const tooMany = { pattern: null, isDate: false, isDistinct: false, isTime: false, plain };
  if (!patterns.has(pattern) && patterns.size === maxPatterns) return tooMany;
  patterns.add(pattern);
  const number = pattern.replace(locale, (_, sign: string) => (sign === '' ? '' : `[$${sign}]`));
  if (!learnPattern(pattern) || !learnPattern(number)) return tooMany;
  try {
    const { year, month, day, hours, minutes, seconds } = getFormatDateInfo(pattern);
    const isDate = year || month || day;
    const isTime = !isDate && (hours || minutes || seconds);
    const isDistinct = month && (day || year);
    return { pattern: isDate || isTime ? pattern : number, isDate, isDistinct, isTime, plain };
  } catch {
    return null;
  }
}

/** What a pattern shows, by its letters outside of quotes and brackets. */
function plainStyle(pattern: string): Pattern['plain'] {
  const bare = pattern.replace(/"[^"]*(?:"|$)|\\.|\[[^\]]*(?:\]|$)/g, '').toLowerCase();
  if (bare.split(';', 1)[0]?.includes('%') === true) return 'percent';
  const [date, time] = [/[yd]|mmm/.test(bare), /[hs]/.test(bare)];
  return date ? (time ? 'both' : 'date') : time ? 'time' : null;
}
