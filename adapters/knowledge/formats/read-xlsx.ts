import type { ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { Archive } from './archive.ts';
import { readCellStyles, type CellStyles } from './cell-styles.ts';
import { cellText } from './cell-values.ts';
import { drawingText } from './drawing-text.ts';
import { mainPart, relationsOf, type Relation } from './package-parts.ts';
import { cellRange, TableRows } from './table-rows.ts';
import { TextBuilder } from './text-builder.ts';
import { readXml } from './xml-reader.ts';

/** Columns of a sheet. */
const maxColumns = 16_384;

interface Workbook {
  shared: readonly string[];
  styles: CellStyles;
}

/** Rows of each sheet, as shown, and the text of its drawings; formulas by their last result. */
export async function readXlsx(archive: Archive): Promise<ExtractedText> {
  const main = await mainPart(archive, 'xl/workbook.xml');
  const relations = await relationsOf(archive, main);
  const partOf = (type: string) => [...relations.values()].find((each) => each.type === type)?.target ?? '';
  const { sheets, date1904 } = sheetsOf(await archive.text(main), relations);
  const shared = sharedStrings(await archive.text(partOf('sharedStrings')));
  const styles = readCellStyles(await archive.text(partOf('styles')), date1904);
  const builder = new TextBuilder();
  for (const { name, part } of sheets) {
    const rows = new TableRows({
      builder,
      heading: name,
      anchor: (_first, _last, all) => cellRange(name, all),
    });
    readSheet(await archive.text(part), { shared, styles }, rows);
    rows.end();
    for (const { type, target } of (await relationsOf(archive, part)).values()) {
      if (type === 'comments') {
        const comments = sharedStrings(await archive.text(target), 'comment');
        builder.add({ heading: name, page: null, anchor: `${name} › comments` }, comments.join('\n'));
      } else if (type === 'drawing') {
        const text = await drawingText(archive, target);
        builder.add({ heading: name, page: null, anchor: `${name} › drawings` }, text);
      }
    }
  }
  return builder.build();
}

function sheetsOf(workbook: string, relations: ReadonlyMap<string, Relation>) {
  const sheets: { name: string; part: string }[] = [];
  let date1904 = false;
  readXml(workbook, {
    open: (element, attributes) => {
      if (element === 'workbookPr') date1904 = /^(1|true)$/.test(attributes().get('date1904') ?? '');
      if (element !== 'sheet') return;
      const id = attributes().get('id') ?? '';
      const part = relations.get(id);
      if (part?.type === 'worksheet' || part?.type === 'chartsheet') {
        sheets.push({ name: attributes().get('name') ?? `Sheet${sheets.length + 1}`, part: part.target });
      }
    },
    close: () => {},
    text: () => {},
  });
  return { sheets, date1904 };
}

/** The text of each `item`, without the readings of Japanese characters. */
function sharedStrings(xml: string, item = 'si'): string[] {
  const strings: string[] = [];
  let [parts, inText, inReading]: [string[], number, number] = [[], 0, 0];
  readXml(xml, {
    open: (name) => {
      if (name === item) parts = [];
      if (name === 't') inText += 1;
      if (name === 'rPh') inReading += 1;
    },
    close: (name) => {
      if (name === item) strings.push(parts.join(''));
      if (name === 't') inText -= 1;
      if (name === 'rPh') inReading -= 1;
    },
    text: (text) => {
      if (inText > 0 && inReading === 0) parts.push(text);
    },
  });
  return strings;
}

function readSheet(xml: string, { shared, styles }: Workbook, rows: TableRows): void {
  let [number, column, type, style] = [0, -1, 'n', 0];
  let cells: string[] = [];
  let value: string[] = [];
  let reading = false;
  readXml(xml, {
    open: (name, attributes) => {
      if (name === 'row') {
        number = Number(attributes().get('r') ?? number + 1) || number + 1;
        [cells, column] = [[], -1];
      } else if (name === 'c') {
        const at = columnOf(attributes().get('r') ?? '');
        column = Math.min(at === -1 ? column + 1 : at, maxColumns - 1);
        [type, style, value] = [attributes().get('t') ?? 'n', Number(attributes().get('s') ?? 0), []];
      } else if (name === 'v' || name === 't') {
        reading = true;
      }
    },
    close: (name) => {
      if (name === 'row') rows.add({ number, cells });
      else if (name === 'c') cells[column] = cellText(value.join(''), { type, style }, { shared, styles });
      else if (name === 'v' || name === 't') reading = false;
    },
    text: (text) => {
      if (reading) value.push(text);
    },
  });
}

/** The column of a reference such as `AB12`, from 0; -1 without one. */
function columnOf(reference: string): number {
  let column = 0;
  for (const letter of reference.slice(0, 3)) {
    const code = letter.charCodeAt(0) - 64;
    if (code < 1 || code > 26) break;
    column = column * 26 + code;
  }
  return column - 1;
}
