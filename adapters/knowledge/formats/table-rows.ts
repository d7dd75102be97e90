import { UnitGroup, type Grouping } from './group-units.ts';

export interface Row {
  number: number;
  /** By column, from 0; blank ones may be missing. */
  cells: readonly (string | undefined)[];
}

export interface RowRange {
  number: number;
  /** First and last column with a value, from 0. */
  from: number;
  to: number;
}

/** Characters of the name of a column. */
const maxName = 100;

/**
 * Rows as text: with a header, `name: value` for each cell, so that each passage can be understood without the rest
 * of the table.
 */
export class TableRows {
  readonly #group: UnitGroup<RowRange>;
  readonly #always: boolean;
  #header: readonly (string | undefined)[] | null = null;
  #rows = 0;

  constructor(grouping: Omit<Grouping<RowRange>, 'separator'>, alwaysHeader = false) {
    this.#group = new UnitGroup(grouping);
    this.#always = alwaysHeader;
  }

  add({ number, cells }: Row): void {
    const filled = cells.flatMap((cell, column) => (isBlank(cell) ? [] : [column]));
    const [from, to] = [filled[0], filled.at(-1)];
    if (from === undefined || to === undefined) {
      return;
    }
    this.#rows += 1;
    const header = this.#header;
    if (header === null && this.#isHeader(cells, filled)) {
      this.#header = cells;
    }
    const values = filled.map((column) => {
      const value = (cells[column] ?? '').trim();
      const name = header?.[column];
      return isBlank(name) ? value : `${name?.trim()}: ${value}`;
    });
    this.#group.add(values.join(header === null ? ' | ' : '; '), { number, from, to });
  }

  end(): void {
    this.#group.end();
  }

  #isHeader(cells: readonly (string | undefined)[], filled: readonly number[]): boolean {
    const names = filled.map((column) => (cells[column] ?? '').trim());
    // Titles above a table have one cell; comments and sentences are no names.
    if (
      names.length < 2 ||
      names[0]?.startsWith('#') === true ||
      names.some((name) => name.length > maxName)
    ) {
      return false;
    }
    return this.#always || (this.#rows <= 3 && names.every((name) => !/^[\d.,:%€$-]+$/.test(name)));
  }
}

const isBlank = (cell: string | undefined): boolean => cell === undefined || cell.trim() === '';

/** `Sales!A2:D40`. */
export function cellRange(sheet: string, rows: readonly RowRange[]): string {
  const from = `${columnName(Math.min(...rows.map((row) => row.from)))}${rows[0]?.number}`;
  const to = `${columnName(Math.max(...rows.map((row) => row.to)))}${rows.at(-1)?.number}`;
  return `${sheet}!${from === to ? from : `${from}:${to}`}`;
}

function columnName(column: number): string {
  let name = '';
  for (let rest = column + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    name = String.fromCharCode(65 + ((rest - 1) % 26)) + name;
  }
  return name;
}
