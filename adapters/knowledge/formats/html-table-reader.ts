import { spanOf, tableLines, type SpanningCell, type SpanningRow } from './table-lines.ts';
import type { XmlAttributes } from './xml-reader.ts';

interface OpenCell {
  parts: string[];
  /** Places of addresses in `parts`. */
  addresses: Set<number>;
  cell: SpanningCell;
}

/** A table that is open. */
interface OpenTable {
  /** Number of the paragraphs before it. */
  start: number;
  rows: SpanningRow[];
  cell: OpenCell | null;
  isHead: boolean;
  isRow: boolean;
  isCaption: boolean;
  /** Whether its cells are values, without headings or other tables in them. */
  isPlain: boolean;
}

const ofRows = /^(?:tr|thead|tbody|tfoot)$/;
const structured = /^(?:table|pre|h[1-6])$/;

/** Collects the cells of tables while a page is read. */
export class HtmlTableReader {
  readonly #tables: OpenTable[] = [];

  /** @param start number of the paragraphs so far */
  open(name: string, attributes: () => XmlAttributes, start: number): void {
    const table = this.#tables.at(-1);
    if (table !== undefined && structured.test(name)) table.isPlain = false;
    if (name === 'table') this.#tables.push(newTable(start));
    else if (table === undefined) return;
    else if (name === 'caption') table.isCaption = true;
    else if (name === 'thead') table.isHead = true;
    else if (name === 'tr') beginRow(table);
    else if (name === 'td' || name === 'th') {
      if (!table.isRow) beginRow(table);
      const [columns, rows] = [spanOf(attributes().get('colspan')), spanOf(attributes().get('rowspan'))];
      const cell = { text: '', name: '', isHeader: name === 'th', columns, rows };
      table.cell = { parts: [], addresses: new Set(), cell };
      table.rows.at(-1)?.cells.push(cell);
    }
  }

  /** The lines of a table that ends, and where its paragraphs begin; null where they may stay as they are. */
  close(name: string): { start: number; lines: string[] } | null {
    const table = this.#tables.at(-1);
    if (table === undefined) return null;
    if (name === 'caption') table.isCaption = false;
    if (name === 'thead') table.isHead = false;
    if (ofRows.test(name)) table.isRow = false;
    if ((name === 'td' || name === 'th') && table.cell !== null) {
      endCell(table.cell);
      table.cell = null;
    }
    if (name !== 'table') return null;
    this.#tables.pop();
    const lines = table.isPlain ? tableLines(table.rows) : null;
    return lines === null ? null : { start: table.start, lines: lines.filter((line) => line !== '') };
  }

  /** What follows the text of a link within a cell; it is no part of the name of a column. */
  address(text: string): void {
    const cell = this.#tables.at(-1)?.cell ?? null;
    if (cell === null || text === '') return;
    cell.addresses.add(cell.parts.length);
    cell.parts.push(text);
  }

  text(text: string): void {
    const table = this.#tables.at(-1);
    if (table === undefined) return;
    if (table.cell !== null) table.cell.parts.push(text);
    else if (!table.isCaption && /\S/.test(text)) table.isPlain = false;
  }
}

function endCell({ parts, addresses, cell }: OpenCell): void {
  const plain = (all: readonly string[]) => all.join('').replace(/\s+/g, ' ').trim();
  cell.text = plain(parts);
  cell.name = addresses.size === 0 ? cell.text : plain(parts.filter((_, at) => !addresses.has(at)));
}

function newTable(start: number): OpenTable {
  return { start, rows: [], cell: null, isHead: false, isRow: false, isCaption: false, isPlain: true };
}

/** Also where a cell comes without one. */
function beginRow(table: OpenTable): void {
  table.rows.push({ cells: [], isHead: table.isHead });
  table.isRow = true;
  table.isCaption = false;
}
