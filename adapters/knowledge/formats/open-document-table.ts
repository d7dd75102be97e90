import { nameColumns, type DocumentRow } from './named-rows.ts';
import type { Paragraph } from './headed-text.ts';
import { spanOf, type SpanningCell } from './table-lines.ts';
import type { XmlAttributes } from './xml-reader.ts';

/** Columns that a repeated value fills at most. */
const maxRepeated = 256;
const maxColumns = 16_384;

export interface OpenDocumentRow {
  number: number;
  /** By column, from 0; blank ones are missing. */
  cells: (string | undefined)[];
  isHead: boolean;
  spanning: SpanningCell[];
}

interface OpenCell {
  text: string[];
  repeated: number;
  /** Another cell spans its place. */
  isCovered: boolean;
  columns: number;
  rows: number;
}

/** The rows of a table; tables within cells are text of these. */
export class OpenDocumentTable {
  #depth = 0;
  #rows: DocumentRow[] = [];
  #number = 0;
  #repeated = 1;
  #row: OpenDocumentRow | null = null;
  #column = 0;
  #cell: OpenCell | null = null;
  #isHead = false;
  /** Whether each cell is text at its own place. */
  #isPlain = true;

  get isOpen(): boolean {
    return this.#depth > 0;
  }

  open(name: string, attributes: () => XmlAttributes): void {
    if (name === 'table') this.#openTable();
    if (this.#depth !== 1) return;
    if (name === 'table-header-rows') this.#isHead = true;
    else if (name === 'table-row') this.#openRow(attributes());
    else if (name === 'table-cell' || name === 'covered-table-cell') this.#openCell(name, attributes());
  }

  /** The row that ends. */
  close(name: string): OpenDocumentRow | null {
    if (name === 'table') this.#closeTable();
    if (this.#depth !== 1) return null;
    if (name === 'table-header-rows') this.#isHead = false;
    else if (name === 'table-cell' || name === 'covered-table-cell') this.#closeCell();
    return name === 'table-row' ? this.#closeRow() : null;
  }

  /** Whether the line is of a cell. */
  addLine(text: string): boolean {
    this.#cell?.text.push(text);
    return this.#cell !== null;
  }

  /** Its columns are named in it when the table ends, where their names are known. */
  addParagraph({ spanning, isHead }: OpenDocumentRow, paragraph: Paragraph): void {
    this.#rows.push({ cells: spanning, isHead, isBold: null, paragraph });
  }

  #openTable(): void {
    this.#depth += 1;
    this.#isPlain = this.#depth === 1;
    if (this.#depth === 1)
      [this.#rows, this.#number, this.#isHead, this.#row, this.#cell] = [[], 0, false, null, null];
  }

  #closeTable(): void {
    this.#depth = Math.max(0, this.#depth - 1);
    if (this.#depth > 0) return;
    if (this.#isPlain) nameColumns(this.#rows);
    this.#rows = [];
  }

  #openRow(attributes: XmlAttributes): void {
    this.#repeated = Number(attributes.get('number-rows-repeated') ?? 1) || 1;
    this.#row = { number: this.#number + 1, cells: [], isHead: this.#isHead, spanning: [] };
    this.#column = 0;
  }

  /** A repeated row is shown once: repetitions hold nothing new. */
  #closeRow(): OpenDocumentRow | null {
    this.#number += this.#repeated;
    const row = this.#row;
    this.#row = null;
    return row;
  }

  #openCell(name: string, attributes: XmlAttributes): void {
    this.#cell = {
      text: [],
      repeated: Number(attributes.get('number-columns-repeated') ?? 1) || 1,
      isCovered: name === 'covered-table-cell',
      columns: spanOf(attributes.get('number-columns-spanned')),
      rows: spanOf(attributes.get('number-rows-spanned')),
    };
  }

  #closeCell(): void {
    const [row, cell] = [this.#row, this.#cell];
    this.#cell = null;
    if (row === null || cell === null) return;
    const { repeated, isCovered, columns, rows } = cell;
    const value = cell.text.join('\n');
    const text = value.replace(/\s+/g, ' ').trim();
    if (text !== '') {
      for (let n = 0; n < Math.min(repeated, maxRepeated); n += 1) {
        if (this.#column + n < maxColumns) row.cells[this.#column + n] = value;
      }
    }
    if (isCovered) this.#isPlain &&= text === '';
    else row.spanning.push({ text, name: text, isHeader: false, columns: Math.max(columns, repeated), rows });
    this.#column += repeated;
  }
}
