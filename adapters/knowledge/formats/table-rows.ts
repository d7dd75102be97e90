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
      return isBlank(name) ? value : `${name?.trim().slice(0, 100)}: ${value}`;
    });
    this.#group.add(values.join(header === null ? ' | ' : '; '), { number, from, to });
  }

  end(): void {
    this.#group.end();
  }

  #isHeader(cells: readonly (string | undefined)[], filled: readonly number[]): boolean {
    if (this.#always) {
      // Titles above a table have one cell.
      return filled.length > 1;
    }
    return (
      this.#rows <= 3 &&
      filled.length > 1 &&
      filled.every((column) => !/^[\s\d.,:%€$-]+$/.test(cells[column] ?? ''))
    );
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
