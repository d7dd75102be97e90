import { format } from 'numfmt';
import type { CellStyles, Pattern } from './cell-styles.ts';
import { plainNumber } from './plain-number.ts';

const dayMs = 86_400_000;
/** Days from the first day of a workbook to 1970. */
const epochDays = 25_569;
const days1904 = 1_462;
const maxDays = 2_958_466;
/** The first day that all programs count alike: some know a February 29 of 1900. */
const firstSafeDay = 61;

/**
 * The text of a cell: strings by their index, numbers as they are shown. A date is there as ISO 8601, too, so that it is
 * the same in every country.
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
  if (kind === null) return plainNumber(number);
  if (typeof kind === 'string') return isoDate(number, kind, styles) ?? plainNumber(number);
  const day = styles.date1904 ? number + days1904 : number;
  const iso = kind.isDistinct && day >= firstSafeDay ? isoDate(Math.floor(number), 'date', styles) : null;
  const shown = shownNumber(number, kind, styles);
  if (shown === null || shown === '') return plainText(number, kind, styles);
  return iso === null || shown.includes(iso) ? shown : `${shown} (${iso})`;
}

/** Null where the format is not understood, or too many cells have one. */
function shownNumber(number: number, kind: Pattern, styles: CellStyles): string | null {
  const { pattern, isDate, isTime } = kind;
  if (pattern === null || styles.budget.cells === 0 || (isDate && number < 0)) return null;
  styles.budget.cells -= 1;
  try {
    const shown = format(pattern, isDate && styles.date1904 ? number + days1904 : number).trim();
    if (number >= 0 || shown === '') return shown;
    const positive = format(pattern, -number).trim();
    if (isTime) return `-${positive}`;
    // Some patterns tell negative numbers by their colour alone.
    const isUnsigned = unsigned(shown) === unsigned(positive) && /[1-9]/.test(shown);
    return isUnsigned ? `-${shown}` : shown;
  } catch {
    return null;
  }
}

/** What a number has besides its digits. */
const unsigned = (shown: string): string => shown.replace(/[\d.,\s]/g, '');

/** A number whose pattern is not used. */
function plainText(number: number, { plain }: Pattern, styles: CellStyles): string {
  if (plain === null) return plainNumber(number);
  if (plain === 'percent') return `${plainNumber(number * 100)}%`;
  if (plain !== 'time') return isoDate(number, plain, styles) ?? plainNumber(number);
  const iso = number < 1 ? isoDate(number, 'both', styles) : null;
  return iso?.slice(11) ?? plainNumber(number);
}

function isoDate(number: number, parts: 'date' | 'both', { date1904 }: CellStyles): string | null {
  if (number < 0 || number > maxDays) return null;
  const days = number - epochDays + (date1904 ? days1904 : 0);
  const iso = new Date(Math.round((days * dayMs) / 1_000) * 1_000).toISOString();
  return parts === 'date' ? iso.slice(0, 10) : iso.slice(0, 19).replace('T', ' ');
}
