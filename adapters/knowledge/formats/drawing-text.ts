import type { Archive } from './archive.ts';
import { chartText } from './chart-text.ts';
import { optionalPart } from './optional-part.ts';
import { relationsOf } from './package-parts.ts';
import { readXml } from './xml-reader.ts';

const graphics = new Map([
  ['chart', chartText],
  ['diagramData', (xml: string) => shapesText(xml).text],
]);

/** The text of the charts and diagrams that a part of an Office Open XML package shows. */
export async function graphicsText(archive: Archive, part: string): Promise<string> {
  const texts: string[] = [];
  for (const { type, target } of (await relationsOf(archive, part)).values()) {
    const read = graphics.get(type);
    if (read !== undefined) texts.push(await optionalPart(async () => read(await archive.text(target)), ''));
  }
  return texts.filter((text) => text !== '').join('\n');
}

/** Paragraphs of shapes, each a line; a row of a table is one, with its cells separated by tabs. */
export function shapesText(xml: string): { title: string | null; text: string } {
  const lines: string[] = [];
  let [title, line]: [string | null, string[]] = [null, []];
  let [inText, inTitle, cells] = [0, false, 0];
  /** Depth of elements that repeat another one's text, and whether the shape shows a number or a date of the slide. */
  let [repeats, isField] = [0, false];
  const end = () => {
    const text = line.join('').trim();
    if (inTitle && text !== '') title = title === null ? text : `${title} ${text}`;
    if (text !== '') lines.push(text);
    line = [];
  };
  readXml(xml, {
    open: (name, attributes) => {
      if (name === 'Fallback') repeats += 1;
      if (repeats > 0) return;
      if (shapes.has(name)) [inTitle, isField] = [false, false];
      if (name === 'ph') {
        const type = attributes().get('type') ?? '';
        inTitle = type === 'title' || type === 'ctrTitle';
        isField = type === 'sldNum' || type === 'dt';
      }
      if (name === 't') inText += 1;
      if (name === 'tc') cells += 1;
      if (name === 'br') line.push(cells > 0 ? ' ' : '\n');
      if (name === 'tab') line.push('\t');
    },
    close: (name) => {
      if (name === 'Fallback') repeats -= 1;
      else if (repeats > 0) return;
      if (name === 'sp') isField = false;
      if (name === 't') inText -= 1;
      if (name === 'tc') {
        cells -= 1;
        if (line.at(-1) === ' ') line.pop();
        line.push('\t');
      }
      if (name === 'tr') end();
      if ((name === 'p' || name === 'text') && cells > 0) line.push(' ');
      else if (name === 'p' || name === 'text') end();
    },
    text: (text) => {
      if (inText > 0 && repeats === 0 && !isField) line.push(text);
    },
  });
  return { title, text: lines.join('\n') };
}

const shapes = new Set(['sp', 'graphicFrame', 'pic', 'cxnSp', 'grpSp']);

/** The text of a part that holds drawings alone, as beside a sheet. */
export async function drawingText(archive: Archive, part: string): Promise<string> {
  const text = await optionalPart(async () => shapesText(await archive.text(part)).text, '');
  return [text, await graphicsText(archive, part)].filter((each) => each !== '').join('\n');
}
