/** A cell that may span several columns and rows. */
export interface SpanningCell {
  text: string;
  /** The text without the addresses of its links: a column would repeat them in each row. */
  name: string;
  /** A `th` of HTML. */
  isHeader: boolean;
  columns: number;
  rows: number;
}

export interface SpanningRow {
  cells: SpanningCell[];
  /** A `thead` of HTML, or a row that is repeated on each page. */
  isHead: boolean;
}

interface Placed {
  text: string;
  name: string;
  isHeader: boolean;
  isCopy: boolean;
}

/** Columns of one cell. */
const maxColumns = 100;
/** Copies of cells that span several places: this many, and some more for each real cell. */
const freeCopies = 2_000;
const copiesPerCell = 4;
/** Characters of a cell that is copied, and of the name of a column. */
const maxCopied = 200;
const maxName = 100;
/** Characters of a cell that is no part of a layout. */
const maxValue = 300;

/** The number that an attribute for a span has. */
export const spanOf = (value: string | null | undefined): number =>
  Math.max(1, Number.parseInt(value ?? '', 10) || 1);

/**
 * A line for each row, with the names of its columns: `name: value; name: value`; '' for rows of names. A cell that
 * spans several places is in each of them, within limits. Null for a table whose cells say nothing of each other: it may
 * only be layout.
 */
export function tableLines(rows: readonly SpanningRow[]): string[] | null {
  const cells = rows.flatMap((row) => row.cells);
  const hasNames = cells.some(({ isHeader }) => isHeader) || rows.some(({ isHead }) => isHead);
  const isApart = cells.every((cell) => cell.columns === 1 && cell.rows === 1);
  if (!hasNames && (isApart || cells.some(({ text }) => text.length > maxValue))) {
    return null;
  }
  const grid = placed(rows, freeCopies + cells.length * copiesPerCell);
  let head = 0;
  while (head < rows.length - 1 && isHeadRow(rows[head])) head += 1;
  const names = namesOf(grid.slice(0, head));
  return grid.map((row, at) => (at < head ? '' : lineOf(row, names)));
}

/** A row of names: of a `thead`, or of several `th` alone that do not all name rows below it, too. */
function isHeadRow(row: SpanningRow | undefined): boolean {
  if (row === undefined) return false;
  const filled = row.cells.filter(({ text }) => text !== '');
  const areNames = filled.length > 0 && filled.every((cell) => cell.isHeader);
  return row.isHead || (areNames && row.cells.length > 1 && row.cells.some((cell) => cell.rows === 1));
}

/** Cells at their columns; what spans several rows or columns stands in each of them. */
function placed(rows: readonly SpanningRow[], copies: number): Placed[][] {
  const budget = { copies };
  /** Cells that reach into the next rows, by column. */
  let open = new Map<number, SpanningCell>();
  return rows.map(({ cells }) => {
    const row: Placed[] = [];
    const next: typeof open = new Map();
    const put = (cell: SpanningCell, isCopy: boolean): boolean => {
      if (isCopy && budget.copies === 0) return false;
      if (isCopy) budget.copies -= 1;
      if (cell.rows > 1) next.set(row.length, { ...cell, rows: cell.rows - 1 });
      row.push(isCopy ? copyOf(cell) : { ...cell, isCopy });
      return true;
    };
    const fill = () => {
      let above = open.get(row.length);
      while (above !== undefined && put(above, true)) above = open.get(row.length);
    };
    for (const cell of cells) {
      fill();
      put(cell, false);
      let [columns, fits] = [1, true];
      while (columns < Math.min(cell.columns, maxColumns) && fits) {
        fits = put(cell, true);
        columns += 1;
      }
    }
    fill();
    open = next;
    return row;
  });
}

/** Of a long cell nothing, and of a name of a row no long address. */
function copyOf({ text, name, isHeader }: SpanningCell): Placed {
  const copied = isHeader && text.length > maxCopied ? name : text;
  return { text: copied.length > maxCopied ? '' : copied, name, isHeader, isCopy: true };
}

/** The name of each column: those of all rows of names, from above. */
function namesOf(head: readonly Placed[][]): string[] {
  const names: string[][] = [];
  for (const row of head) {
    for (const [column, cell] of row.entries()) {
      const name = (names[column] ??= []);
      if (cell.text !== '' && name.at(-1) !== cell.name) name.push(cell.name);
    }
  }
  return names.map((parts) => parts.join(' ').slice(0, maxName));
}

function lineOf(row: readonly Placed[], names: readonly string[]): string {
  const filled = row.flatMap((cell, column) => (cell.text === '' ? [] : [{ ...cell, column }]));
  const own = filled.filter(({ isCopy }) => !isCopy);
  // The title of the rows below it.
  if (own.length === 1 && filled.length > 1 && filled.every(({ name }) => name === own[0]?.name)) {
    return own[0]?.text ?? '';
  }
  if (names.some((name) => name !== '')) {
    return filled.map(({ text, column }) => (names[column] ? `${names[column]}: ${text}` : text)).join('; ');
  }
  const values = filled.filter((cell, at) => !repeats(cell, filled[at - 1]));
  const titles = values.filter(({ isHeader }) => isHeader).length;
  const isTitled = titles === 1 && values.length > 1 && values[0]?.isHeader === true;
  const rest = values.slice(isTitled ? 1 : 0).map(({ text }) => text);
  return `${isTitled ? `${values[0]?.text}: ` : ''}${rest.join(' | ')}`;
}

/** Whether a cell says again what the one before it says. */
const repeats = (cell: Placed, before: Placed | undefined): boolean =>
  cell.text === before?.text || (cell.isCopy && cell.name === before?.name);
