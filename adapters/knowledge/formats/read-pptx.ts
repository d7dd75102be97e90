import type { ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { Archive } from './archive.ts';
import { graphicsText, shapesText } from './drawing-text.ts';
import { mainPart, relationsOf, type Relation } from './package-parts.ts';
import { TextBuilder } from './text-builder.ts';
import { readXml } from './xml-reader.ts';

/** Parts of a slide whose text is said with it. */
const besides = new Set(['notesSlide', 'comments']);

/** Slides in the order of the show, each with its notes. */
export async function readPptx(archive: Archive): Promise<ExtractedText> {
  const main = await mainPart(archive, 'ppt/presentation.xml');
  const relations = await relationsOf(archive, main);
  const builder = new TextBuilder();
  for (const [index, slide] of slidesOf(await archive.text(main), relations).entries()) {
    const { title, text } = shapesText(await archive.text(slide));
    const parts = [text, await graphicsText(archive, slide)];
    for (const { type, target } of (await relationsOf(archive, slide)).values()) {
      if (besides.has(type)) parts.push(shapesText(await archive.text(target)).text);
    }
    const page = index + 1;
    builder.add(
      { heading: title, page, anchor: `slide ${page}` },
      parts.filter((part) => part !== '').join('\n'),
    );
  }
  return builder.build();
}

function slidesOf(presentation: string, relations: ReadonlyMap<string, Relation>): string[] {
  const slides: string[] = [];
  readXml(presentation, {
    open: (name, attributes) => {
      // `id` is the number of the slide too; its relation has the prefix.
      const ids = name === 'sldId' ? [...attributes()] : [];
      for (const [key, id] of ids) {
        const target = key.includes(':') ? relations.get(id)?.target : undefined;
        if (target !== undefined) slides.push(target);
      }
    },
    close: () => {},
    text: () => {},
  });
  return slides;
}
