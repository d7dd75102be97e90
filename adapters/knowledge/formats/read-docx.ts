import type { ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { Archive } from './archive.ts';
import { graphicsText } from './drawing-text.ts';
import { addParagraphs, type Paragraph } from './headed-text.ts';
import { mainPart, relationsOf } from './package-parts.ts';
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
]);

export async function readDocx(archive: Archive): Promise<ExtractedText> {
  const main = await mainPart(archive, 'word/document.xml');
  const relations = [...(await relationsOf(archive, main)).values()];
  const styles = relations.find(({ type }) => type === 'styles')?.target ?? 'word/styles.xml';
  const levels = headingLevels(await archive.text(styles));
  const builder = new TextBuilder();
  addParagraphs(builder, paragraphsOf(await archive.text(main), levels));
  builder.add({ heading: null, page: null, anchor: 'graphics' }, await graphicsText(archive, main));
  for (const [type, anchor] of besides) {
    const parts = new Set(relations.filter((relation) => relation.type === type).map(({ target }) => target));
    for (const part of parts) {
      const text = paragraphsOf(await archive.text(part), levels).map((paragraph) => paragraph.text);
      builder.add({ heading: null, page: null, anchor }, text.join('\n'));
    }
  }
  return builder.build();
}

function headingLevels(styles: string): ReadonlyMap<string, number> {
  const levels = new Map<string, number>();
  let style = '';
  readXml(styles, {
    open: (name, attributes) => {
      if (name === 'style') style = attributes().get('styleId') ?? '';
      const value = attributes().get('val') ?? '';
      const [, number] = name === 'name' ? (/^heading ([1-9])$/i.exec(value) ?? []) : [];
      if (number !== undefined) levels.set(style, Number(number));
      if (name === 'name' && /^title$/i.test(value)) levels.set(style, 1);
      if (name === 'outlineLvl' && Number(value) < 9) levels.set(style, Number(value) + 1);
    },
    close: () => {},
    text: () => {},
  });
  return levels;
}

/** Paragraphs; a row of a table is one, with its cells separated by tabs. */
function paragraphsOf(xml: string, levels: ReadonlyMap<string, number>): Paragraph[] {
  const reader = new ParagraphReader(levels);
  readXml(xml, reader);
  return reader.paragraphs;
}

class ParagraphReader {
  readonly paragraphs: Paragraph[] = [];
  readonly #levels: ReadonlyMap<string, number>;
  #text: string[] = [];
  #level = 0;
  #skipping = 0;
  #inText = 0;
  #rows = 0;

  constructor(levels: ReadonlyMap<string, number>) {
    this.#levels = levels;
  }

  open(name: string, attributes: () => XmlAttributes): void {
    if (skipped.has(name)) this.#skipping += 1;
    else if (name === 't') this.#inText += 1;
    else if (name === 'tr') this.#rows += 1;
    else if (name === 'pStyle') this.#level = this.#levels.get(attributes().get('val') ?? '') ?? 0;
    else if (name === 'outlineLvl') this.#level = (Number(attributes().get('val') ?? 9) + 1) % 10;
    else if (name === 'br' || name === 'cr') this.#text.push('\n');
    else if (name === 'noBreakHyphen') this.#text.push('-');
    else if (name === 'tab' && attributes().size === 0) this.#text.push('\t');
  }

  close(name: string): void {
    if (skipped.has(name)) this.#skipping -= 1;
    else if (name === 't') this.#inText -= 1;
    else if (name === 'p' && this.#rows > 0) this.#text.push(' ');
    else if (name === 'tc') this.#text.push('\t');
    else if (name === 'tr') {
      this.#rows -= 1;
      if (this.#rows === 0) this.#end(0);
    } else if (name === 'p') this.#end(this.#level);
  }

  text(text: string): void {
    if (this.#inText > 0 && this.#skipping === 0) this.#text.push(text);
  }

  #end(level: number): void {
    const text = this.#text.join('').trim();
    if (text !== '') this.paragraphs.push({ text, level });
    this.#text = [];
    this.#level = 0;
  }
}
