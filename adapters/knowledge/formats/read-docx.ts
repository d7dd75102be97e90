import type { ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { Archive } from './archive.ts';
import { DocxNumbering } from './docx-numbering.ts';
import { paragraphsOf } from './docx-paragraphs.ts';
import { readDocxStyles } from './docx-styles.ts';
import { graphicsText } from './drawing-text.ts';
import { addParagraphs } from './headed-text.ts';
import { mainPart, relationsOf } from './package-parts.ts';
import { typeOfName, type PartReader } from './document-parts.ts';
import { TextBuilder } from './text-builder.ts';

/** Parts beside the body, in the order in which they are added. */
const besides = new Map([
  ['header', 'header'],
  ['footnotes', 'footnotes'],
  ['endnotes', 'endnotes'],
  ['comments', 'comments'],
  ['footer', 'footer'],
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
