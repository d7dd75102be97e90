import type { ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { Archive } from './archive.ts';
import { mainPart, relationsOf, type Relation } from './package-parts.ts';
import { TextBuilder } from './text-builder.ts';
import { readXml } from './xml-reader.ts';

/** Parts of a slide whose text is shown or said with it. */
const besides = new Set(['notesSlide', 'diagramData', 'chart', 'comments']);

/** Slides in the order of the show, each with its notes. */
export async function readPptx(archive: Archive): Promise<ExtractedText> {
  const main = await mainPart(archive, 'ppt/presentation.xml');
  const relations = await relationsOf(archive, main);
  const builder = new TextBuilder();
  for (const [index, slide] of slidesOf(await archive.text(main), relations).entries()) {
    const { title, text } = slideText(await archive.text(slide));
    const parts = [text];
    for (const { type, target } of (await relationsOf(archive, slide)).values()) {
      if (besides.has(type)) parts.push(slideText(await archive.text(target)).text);
    }
    const page = index + 1;
    builder.add({ heading: title, page, anchor: `slide ${page}` }, parts.join('\n').trim());
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

function slideText(xml: string): { title: string | null; text: string } {
  const lines: string[] = [];
  let [title, line]: [string | null, string[]] = [null, []];
  let [inText, inTitle, skipped] = [0, false, 0];
  readXml(xml, {
    open: (name, attributes) => {
      if (name === 'Fallback') skipped += 1;
      if (name === 'sp') inTitle = false;
      if (name === 'ph') {
        const type = attributes().get('type') ?? '';
        inTitle = type === 'title' || type === 'ctrTitle';
        if (type === 'sldNum' || type === 'dt') skipped += 1;
      }
      if (name === 't' || name === 'v') inText += 1;
      if (name === 'br') line.push('\n');
      if (name === 'tab') line.push('\t');
    },
    close: (name) => {
      if (name === 'Fallback') skipped -= 1;
      if (name === 'sp') skipped = 0;
      if (name === 't' || name === 'v') inText -= 1;
      if (name === 'p' || name === 'v' || name === 'text') {
        const text = line.join('').trim();
        if (inTitle && text !== '') title = title === null ? text : `${title} ${text}`;
        if (text !== '') lines.push(text);
        line = [];
      }
    },
    text: (text) => {
      if (inText > 0 && skipped === 0) line.push(text);
    },
  });
  return { title, text: lines.join('\n') };
}
