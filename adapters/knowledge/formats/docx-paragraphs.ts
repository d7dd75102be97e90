import { listLevel, type DocxNumbering } from './docx-numbering.ts';
import { listOfStyle, type DocxStyle } from './docx-styles.ts';
import { DocxTables } from './docx-tables.ts';
import { FormulaText } from './formula-text.ts';
import type { Paragraph } from './headed-text.ts';
import { readXml, type XmlAttributes } from './xml-reader.ts';

/** Their text repeats another element's, was deleted, or is an instruction. */
const skipped = new Set([
  'Fallback',
  'delText',
  'instrText',
  'delInstrText',
  'moveFrom',
  'posOffset',
  'align',
  'pPrChange',
]);

export interface DocxFormat {
  styles: ReadonlyMap<string, DocxStyle>;
  numbering: DocxNumbering;
}

/** Paragraphs; a row of a table is one, with the names of its columns, or with its cells separated by tabs. */
export function paragraphsOf(xml: string, format: DocxFormat): Paragraph[] {
  const reader = new ParagraphReader(format);
  readXml(xml, reader);
  return reader.paragraphs.filter(({ text }) => text !== '');
}

class ParagraphReader {
  readonly paragraphs: Paragraph[] = [];
  readonly #format: DocxFormat;
  readonly #formula = new FormulaText();
  readonly #tables: DocxTables;
  #text: string[] = [];
  #level = 0;
  #skipping = 0;
  #inText = 0;
  #rows = 0;
  #style = '';
  /** A large first letter, which has a paragraph of its own. */
  #isInitial = false;
  /** Beside the numbers of lists. */
  #hasText = false;
  #list: string | null = null;
  #listLevel: number | null = null;

  constructor(format: DocxFormat) {
    this.#format = format;
    this.#tables = new DocxTables(format.styles);
  }

  open(name: string, attributes: () => XmlAttributes): void {
    if (skipped.has(name)) this.#skipping += 1;
    if (this.#skipping > 0) return;
    this.#formula.open(name, attributes, this.#text);
    this.#tables.open(name, attributes, this.#text.length);
    if (name === 't') this.#inText += 1;
    else if (name === 'pPr') [this.#style, this.#list, this.#listLevel] = ['', null, null];
    else if (name === 'ilvl') this.#listLevel = listLevel(attributes().get('val') ?? '');
    else if (name === 'numId') this.#list = attributes().get('val') ?? '';
    else if (name === 'framePr')
      this.#isInitial = /^(?:drop|margin)$/.test(attributes().get('dropCap') ?? '');
    else if (name === 'tr') this.#rows += 1;
    else if (name === 'pStyle') this.#enterStyle(attributes().get('val') ?? '');
    else if (name === 'outlineLvl') this.#level = (Number(attributes().get('val') ?? 9) + 1) % 10;
    else if (name === 'br' || name === 'cr') this.#text.push('\n');
    else if (name === 'noBreakHyphen') this.#write('-');
    else if (name === 'tab' && attributes().size === 0) this.#text.push('\t');
  }

  close(name: string): void {
    if (skipped.has(name)) this.#skipping -= 1;
    else if (this.#skipping > 0) return;
    else this.#formula.close(name, this.#text);
    this.#tables.close(name, this.#text);
    if (name === 't') this.#inText -= 1;
    else if (name === 'pPr') this.#addNumber();
    else if (name === 'p' && this.#isInitial) this.#isInitial = false;
    else if (name === 'p' && this.#rows > 0) this.#text.push(' ');
    else if (name === 'tc') this.#text.push('\t');
    else if (name === 'tr') {
      this.#rows -= 1;
      if (this.#rows === 0) this.#tables.addRow(this.#end(0));
    } else if (name === 'p') this.#end(this.#level);
  }

  text(text: string): void {
    if (this.#inText === 0 || this.#skipping > 0) return;
    this.#write(text);
    this.#tables.text(text);
  }

  #write(text: string): void {
    this.#text.push(text);
    this.#hasText ||= text.trim() !== '';
  }

  #enterStyle(style: string): void {
    this.#style = style;
    this.#level = this.#format.styles.get(style)?.level ?? 0;
  }

  /** The number of a list's paragraph is not in the text: Word counts when it shows it. */
  #addNumber(): void {
    const { styles, numbering } = this.#format;
    const ofStyle = listOfStyle(styles, this.#style);
    const list = this.#list ?? ofStyle?.id;
    if (list === undefined) return;
    const levelOfStyle = this.#list === null ? ofStyle?.level : null;
    const level = this.#listLevel ?? levelOfStyle ?? numbering.levelOf(list, this.#style);
    const number = numbering.next(list, level);
    if (number !== '') this.#text.push(number, ' ');
  }

  #end(level: number): Paragraph | null {
    const paragraph = { text: this.#text.join('').trim(), level };
    // An empty paragraph of a list takes a number, and is none of the text.
    const isEmpty = paragraph.text === '' || !this.#hasText;
    if (!isEmpty) this.paragraphs.push(paragraph);
    [this.#text, this.#hasText] = [[], false];
    this.#level = 0;
    return isEmpty ? null : paragraph;
  }
}
