import type { Paragraph } from './headed-text.ts';
import { tableLines, type SpanningCell, type SpanningRow } from './table-lines.ts';

/** A row of a table of a text, which is a paragraph. */
export interface DocumentRow extends SpanningRow {
  /** Whether all of its text is bold; null where that is not known. */
  isBold: boolean | null;
  /** Null for a row without text. */
  paragraph: Paragraph | null;
}

/** Characters of a cell that is the name of a column. */
const maxName = 100;
/** Rows of a table whose first row may be of names although the file does not say so. */
const minRows = 3;
/** Columns of a table whose first row is taken for names because a column below it holds numbers. */
const minColumns = 3;
/** Share of the values of a column of numbers that begin like one. */
const minNumbers = 2 / 3;
const number = /^[-+−±~≈<>≤≥(]?\s?[€$£¥]?\s?\d/;

/**
 * Writes the names of its columns into each row of a table: `name: value; name: value`. A table without a row of names
 * stays as it is: it may only be layout.
 */
export function nameColumns(rows: readonly DocumentRow[]): void {
  const head = rowsOfNames(rows);
  const lines = head === 0 ? null : tableLines(rows.map(({ cells }, at) => ({ cells, isHead: at < head })));
  for (const [at, line] of (lines ?? []).entries()) {
    const { paragraph = null } = rows[at] ?? {};
    if (paragraph !== null) paragraph.text = line;
  }
}

/** How many rows at the beginning hold the names of columns: those that the file says to be names, or that look so. */
function rowsOfNames(rows: readonly DocumentRow[]): number {
  let head = 0;
  while (rows[head]?.isHead === true) head += 1;
  const [first, ...others] = rows;
  if (head === 0 && first !== undefined && rows.length >= minRows && areNames(first.cells)) {
    const isAlone = first.isBold === true && !others.some(({ isBold }) => isBold === true);
    if (isAlone || standAboveNumbers(rows)) head = 1;
  }
  const isLong = rows.slice(0, head).some(({ cells }) => cells.some(({ text }) => text.length > maxName));
  return isLong || head === rows.length ? 0 : head;
}

/** Different words, and at most the corner is blank. */
function areNames(cells: readonly SpanningCell[]): boolean {
  const names = cells.map(({ text }) => text);
  const isFilled = names.every((name, at) => (at === 0 || name !== '') && !number.test(name));
  return isFilled && names.length >= 2 && new Set(names).size === names.length;
}

/** Whether one of the columns holds numbers; those of two columns may be a list of properties and their values. */
function standAboveNumbers(rows: readonly DocumentRow[]): boolean {
  const columns = rows[0]?.cells.length ?? 0;
  const isPlain = rows.every(
    ({ cells }) => cells.length <= columns && cells.every((cell) => cell.columns === 1 && cell.rows === 1),
  );
  if (!isPlain || columns < minColumns) return false;
  return Array.from({ length: columns }).some((_, column) => {
    const values = rows.slice(1).flatMap(({ cells }) => cells[column]?.text || []);
    const numbers = values.filter((value) => number.test(value)).length;
    return values.length >= minRows - 1 && numbers >= values.length * minNumbers;
  });
}
