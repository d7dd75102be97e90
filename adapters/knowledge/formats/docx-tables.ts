import { isHeadStyle, type DocxStyle } from './docx-styles.ts';
import type { Paragraph } from './headed-text.ts';
import { nameColumns, type DocumentRow } from './named-rows.ts';
import { spanOf, type SpanningCell } from './table-lines.ts';
import type { XmlAttributes } from './xml-reader.ts';

interface OpenRow extends Omit<DocumentRow, 'paragraph'> {
  cells: SpanningCell[];
  /** Number of the columns before the next cell. */
  column: number;
}

interface OpenCell {
  /** Where its text begins. */
  start: number;
  columns: number;
  /** A cell of several rows begins, or goes on. */
  merge: 'restart' | 'continue' | null;
}

const firstRow = 0x20;

/** Finds the cells of tables of a text; tables within cells are text of these. */
export class DocxTables {
  readonly #styles: ReadonlyMap<string, DocxStyle>;
  #depth = 0;
  #rows: DocumentRow[] = [];
  #row: OpenRow | null = null;
  #cell: OpenCell | null = null;
  /** Cells of several rows that reach into the next row, and those of the row before, by column. */
  #reaching = new Map<number, SpanningCell>();
  #above = this.#reaching;
  #hasTables = false;
  /** Whether the style shows the first row as names, and the table uses that. */
  #isStyled = false;
  #usesFirst = false;
  #isBold = false;

  constructor(styles: ReadonlyMap<string, DocxStyle>) {
    this.#styles = styles;
  }

  /** @param length number of the parts of the text so far */
  open(name: string, attributes: () => XmlAttributes, length: number): void {
    if (name === 'tbl') this.#openTable();
    if (this.#depth !== 1) return;
    const value = () => attributes().get('val');
    if (name === 'tblStyle') this.#isStyled = isHeadStyle(this.#styles, value() ?? '');
    else if (name === 'tblLook') this.#usesFirst = usesFirstRow(attributes());
    else if (name === 'tr') this.#openRow();
    else if (name === 'tc') this.#cell = { start: length, columns: 1, merge: null };
    else if (name === 'r') this.#isBold = false;
    else if (name === 'b') this.#isBold = isOn(value());
    else if (this.#cell !== null && name === 'gridSpan') this.#cell.columns = spanOf(value());
    else if (this.#cell !== null && name === 'vMerge')
      this.#cell.merge = value() === 'restart' ? 'restart' : 'continue';
    else if (this.#row !== null && name === 'tblHeader') this.#row.isHead = isOn(value());
    else if (this.#row !== null && name === 'gridBefore') this.#skip(this.#row, spanOf(value()));
  }

  text(text: string): void {
    if (this.#row !== null && /\S/.test(text)) this.#row.isBold = this.#isBold && this.#row.isBold !== false;
  }

  /** @param text its parts so far */
  close(name: string, text: readonly string[]): void {
    if (this.#depth === 1 && name === 'tc') this.#closeCell(text);
    if (name !== 'tbl') return;
    this.#depth -= 1;
    if (this.#depth > 0) return;
    if (!this.#hasTables) nameColumns(this.#rows);
    this.#rows = [];
  }

  addRow(paragraph: Paragraph | null): void {
    if (this.#row !== null) this.#rows.push({ ...this.#row, paragraph });
    this.#row = null;
  }

  #openTable(): void {
    this.#depth += 1;
    this.#hasTables = this.#depth > 1;
    if (this.#depth > 1) return;
    [this.#isStyled, this.#usesFirst, this.#row, this.#cell] = [false, false, null, null];
    this.#reaching = new Map();
  }

  #openRow(): void {
    const isHead = this.#rows.length === 0 && this.#isStyled && this.#usesFirst;
    this.#row = { cells: [], isHead, isBold: null, column: 0 };
    [this.#above, this.#reaching] = [this.#reaching, new Map()];
  }

  #skip(row: OpenRow, columns: number): void {
    row.cells.push({ text: '', name: '', isHeader: false, columns, rows: 1 });
    row.column += columns;
  }

  #closeCell(parts: readonly string[]): void {
    const [row, open] = [this.#row, this.#cell];
    this.#cell = null;
    if (row === null || open === null) return;
    const text = parts.slice(open.start).join('').replace(/\s+/g, ' ').trim();
    const { columns, merge } = open;
    const origin = merge === 'continue' && text === '' ? this.#above.get(row.column) : undefined;
    const cell = origin ?? { text, name: text, isHeader: false, columns, rows: 0 };
    cell.rows += 1;
    if (origin === undefined) row.cells.push(cell);
    if (merge !== null) this.#reaching.set(row.column, cell);
    row.column += columns;
  }
}

/** A property that is there without a value is on. */
const isOn = (value: string | undefined): boolean => !/^(?:0|false|off)$/.test(value ?? '');

function usesFirstRow(look: XmlAttributes): boolean {
  const first = look.get('firstRow');
  return first === undefined ? (Number.parseInt(look.get('val') ?? '', 16) & firstRow) !== 0 : isOn(first);
}
