import type { Archive } from './archive.ts';
import { OpenDocumentReader } from './open-document-reader.ts';
import { optionalPart } from './optional-part.ts';
import { readXml } from './xml-reader.ts';

const objectPart = /^(.+)\/content\.xml$/;

/** The texts of embedded objects, such as charts and formulas, by their name. */
export async function objectTexts(archive: Archive): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const part of archive.names()) {
    const name = objectPart.exec(part)?.[1];
    if (name !== undefined) {
      texts.set(name, await optionalPart(async () => objectText(await archive.text(part)), ''));
    }
  }
  return texts;
}

function objectText(xml: string): string {
  const reader = new OpenDocumentReader(new Map(), 'text');
  readXml(xml, reader);
  return [...reader.paragraphs.map(({ text }) => text), formulaText(xml)]
    .filter((text) => text.trim() !== '')
    .join('\n');
}

/** A formula, as it is read from left to right. */
function formulaText(xml: string): string {
  const text: string[] = [];
  let [inFormula, inNote] = [0, 0];
  readXml(xml, {
    open: (name) => {
      if (name === 'math') inFormula += 1;
      if (name === 'annotation') inNote += 1;
    },
    close: (name) => {
      if (name === 'math') inFormula -= 1;
      if (name === 'annotation') inNote -= 1;
    },
    text: (part) => {
      if (inFormula > 0 && inNote === 0) text.push(part.trim());
    },
  });
  return text.filter((part) => part !== '').join(' ');
}

export interface PageEdges {
  header: string;
  footer: string;
}

/** What stands above and below each page of a text, without the numbers of pages. */
export function pageEdges(styles: string): PageEdges {
  const lines = { header: new Set<string>(), footer: new Set<string>() };
  let edge: keyof PageEdges | null = null;
  let [text, open, skipping]: [string[], number, number] = [[], 0, 0];
  readXml(styles, {
    open: (name) => {
      edge = edges.get(name) ?? edge;
      if (name === 'p' || name === 'h') open += 1;
      if (name === 'page-number' || name === 'page-count') skipping += 1;
      if (name === 's' || name === 'tab' || name === 'line-break') text.push(' ');
    },
    close: (name) => {
      if (edges.has(name)) edge = null;
      if (name === 'page-number' || name === 'page-count') skipping -= 1;
      if (name !== 'p' && name !== 'h') return;
      open -= 1;
      const line = text.join('').trim();
      if (edge !== null && line !== '') lines[edge].add(line);
      text = [];
    },
    text: (part) => {
      if (edge !== null && open > 0 && skipping === 0) text.push(part);
    },
  });
  return { header: [...lines.header].join('\n'), footer: [...lines.footer].join('\n') };
}

const edges = new Map(
  ['', '-left', '-first'].flatMap((side) => [
    [`header${side}`, 'header' as const],
    [`footer${side}`, 'footer' as const],
  ]),
);
