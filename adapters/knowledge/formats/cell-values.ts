import { plainNumber } from './plain-number.ts';
import { readXml } from './xml-reader.ts';

export interface CellStyles {
  date1904: boolean;
  /** How the cells of each style show numbers; null for plain ones. */
  numbers: readonly NumberStyle[];
}

/** Dates, or percents with this number of decimals. */
type NumberStyle = 'date' | 'time' | 'both' | { decimals: number } | null;

/** Characters of a number format. */
const maxFormat = 255;
/** Beyond them is the noise of floating point. */
const maxDecimals = 12;
const dayMs = 86_400_000;
/** Days from the first day of a workbook to 1970. */
const epochDays = 25_569;
const days1904 = 1_462;

export function readCellStyles(xml: string, date1904: boolean): CellStyles {
  const formats = new Map<number, string>();
  const numbers: NumberStyle[] = [];
  let inCells = false;
  readXml(xml, {
    open: (name, attributes) => {
      if (name === 'cellXfs') inCells = true;
      const id = Number(attributes().get('numFmtId') ?? 0);
      if (name === 'numFmt') formats.set(id, attributes().get('formatCode') ?? '');
      if (name === 'xf' && inCells) numbers.push(styleOf(id, formats.get(id)));
    },
    close: (name) => {
      if (name === 'cellXfs') inCells = false;
    },
    text: () => {},
  });
  return { date1904, numbers };
}

function styleOf(id: number, format: string | undefined): NumberStyle {
  if (format !== undefined) {
    const bare = bareFormat(format.slice(0, maxFormat)).toLowerCase();
    const [positive = ''] = bare.split(';');
    if (positive.includes('%')) return { decimals: /\.([0#?]+)/.exec(positive)?.[1]?.length ?? 0 };
    const [date, time] = [/[yd]|mmm/.test(bare), /[hs]/.test(bare)];
    return date ? (time ? 'both' : 'date') : time ? 'time' : null;
  }
  if (id === 9 || id === 10) return { decimals: id === 9 ? 0 : 2 };
  if (id === 22) return 'both';
  if ((id >= 18 && id <= 21) || (id >= 45 && id <= 47)) return 'time';
  return (id >= 14 && id <= 17) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58) ? 'date' : null;
}

/** A format without quoted text, escaped characters and what is in brackets, such as colours. */
function bareFormat(format: string): string {
  let [bare, until, escaped] = ['', '', false];
  for (const character of format) {
    if (escaped) escaped = false;
    else if (until !== '') until = character === until ? '' : until;
    else if (character === '\\') escaped = true;
    else if (character === '"') until = '"';
    else if (character === '[') until = ']';
    else bare += character;
  }
  return bare;
}

/**
 * The text of a cell: strings by their index, dates as ISO 8601, percents as shown, other numbers without noise of
 * floating point.
 */
export function cellText(
  value: string,
  { type, style }: { type: string; style: number },
  { shared, styles }: { shared: readonly string[]; styles: CellStyles },
): string {
  if (type === 's') return shared[Number(value)] ?? '';
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  const number = Number(value);
  if (type !== 'n' || value.trim() === '' || !Number.isFinite(number)) return value;
  const kind = styles.numbers[style] ?? null;
  if (typeof kind === 'object' && kind !== null) {
    return `${(number * 100).toFixed(Math.min(kind.decimals, maxDecimals))}%`;
  }
  if (kind === null || number < 0 || number > 2_958_466) return plainNumber(number);
  const days = number - epochDays + (styles.date1904 ? days1904 : 0);
  const iso = new Date(Math.round((days * dayMs) / 1_000) * 1_000).toISOString();
  if (kind === 'date') return iso.slice(0, 10);
  return kind === 'time' && number < 1 ? iso.slice(11, 19) : iso.slice(0, 19).replace('T', ' ');
}
