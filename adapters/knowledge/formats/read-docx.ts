import type { ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { Archive } from './archive.ts';
import { DocxNumbering, listLevel } from './docx-numbering.ts';
import { listOfStyle, readDocxStyles, type DocxStyle } from './docx-styles.ts';
import { graphicsText } from './drawing-text.ts';
import { FormulaText } from './formula-text.ts';
import { addParagraphs, type Paragraph } from './headed-text.ts';
import { mainPart, relationsOf } from './package-parts.ts';
import { typeOfName, type PartReader } from './document-parts.ts';
import { TextBuilder } from './text-builder.ts';
import { readXml, type XmlAttributes } from './xml-reader.ts';

/** Parts beside the body, in the order in which they are added. */
const besides = new Map([
  ['header', 'header'],
  ['footnotes', 'footnotes'],
  ['endnotes', 'endnotes'],
  ['comments', 'comments'],
  ['footer', 'footer'],
]);
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

/** @param attached null: documents within it are not read */
export async function readDocx(archive: Archive, attached: PartReader | null): Promise<ExtractedText> {
  const main = await mainPart(archive, 'word/document.xml');
  const relations = [...(await relationsOf(archive, main)).values()];
  const styles = relations.find(({ type }) => type === 'styles')?.target ?? 'word/styles.xml';
  const numbers = relations.find(({ type }) => type === 'numbering')?.target ?? 'word/numbering.xml';
  const format = {
    styles: readDocxStyles(await archive.text(styles)),
    numbering: new DocxNumbering(await archive.text(numbers)),
  };
  const builder = new TextBuilder();
  addParagraphs(builder, paragraphsOf(await archive.text(main), format));
  if (attached !== null) {
    const chunks = relations.filter(({ type, target }) => type === 'aFChunk' && archive.has(target));
    for (const target of new Set(chunks.map((chunk) => chunk.target))) {
      const text = await attached(await archive.bytes(target), typeOfName(target));
      if (text !== null) builder.addText(text, null);
    }
  }
  builder.add({ heading: null, page: null, anchor: 'graphics' }, await graphicsText(archive, main));
  for (const [type, anchor] of besides) {
    const parts = new Set(relations.filter((relation) => relation.type === type).map(({ target }) => target));
    for (const part of parts) {
      const text = paragraphsOf(await archive.text(part), format).map((paragraph) => paragraph.text);
      builder.add({ heading: null, page: null, anchor }, text.join('\n'));
    }
  }
  return builder.build();
}

interface Format {
  styles: ReadonlyMap<string, DocxStyle>;
  numbering: DocxNumbering;
}

/** Paragraphs; a row of a table is one, with its cells separated by tabs. */
function paragraphsOf(xml: string, format: Format): Paragraph[] {
  const reader = new ParagraphReader(format);
  readXml(xml, reader);
  return reader.paragraphs;
}

class ParagraphReader {
  readonly paragraphs: Paragraph[] = [];
  readonly #format: Format;
  readonly #formula = new FormulaText();
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

  constructor(format: Format) {
    this.#format = format;
  }

  open(name: string, attributes: () => XmlAttributes): void {
    if (skipped.has(name)) this.#skipping += 1;
    if (this.#skipping > 0) return;
    this.#formula.open(name, attributes, this.#text);
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
    if (name === 't') this.#inText -= 1;
    else if (name === 'pPr') this.#addNumber();
    else if (name === 'p' && this.#isInitial) this.#isInitial = false;
    else if (name === 'p' && this.#rows > 0) this.#text.push(' ');
    else if (name === 'tc') this.#text.push('\t');
    else if (name === 'tr') {
      this.#rows -= 1;
      if (this.#rows === 0) this.#end(0);
    } else if (name === 'p') this.#end(this.#level);
  }

  text(text: string): void {
    if (this.#inText > 0 && this.#skipping === 0) this.#write(text);
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

  #end(level: number): void {
    const text = this.#text.join('').trim();
    // An empty paragraph of a list takes a number, and is none of the text.
    if (text !== '' && this.#hasText) this.paragraphs.push({ text, level });
    [this.#text, this.#hasText] = [[], false];
    this.#level = 0;
  }
}
