import { ExtractionFailure, type ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import { rangeName, UnitGroup } from './group-units.ts';
import { notebookCells, readNotebook } from './read-notebook.ts';
import { maxTextLength, TextBuilder } from './text-builder.ts';

const maxDepth = 100;

/** A notebook by its cells; else records as lines of path and value: elements of an array, or properties of an object. */
export function readJson(text: string): ExtractedText {
  const value = JSON.parse(text) as unknown;
  const cells = notebookCells(value);
  if (cells !== null) return readNotebook(cells);
  const builder = new TextBuilder();
  addValue(builder, value, '$');
  return builder.build();
}

/** @throws for a line that is no JSON */
export function readJsonLines(text: string): ExtractedText {
  const builder = new TextBuilder();
  const group = new UnitGroup<number>({
    builder,
    anchor: (first, last) => rangeName('line', first, last),
  });
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() !== '') group.add(pathLines(JSON.parse(line) as unknown, ''), index + 1);
  }
  group.end();
  return builder.build();
}

/** An object may hold one large array of records: it is entered, too. */
function addValue(builder: TextBuilder, value: unknown, path: string): void {
  const group = new UnitGroup<string>({
    builder,
    anchor: (first, last) => (first === last ? first : `${first} to ${last}`),
  });
  for (const [key, child] of childrenOf(value)) {
    const at = typeof key === 'number' ? `${path}[${key}]` : `${path}.${key}`;
    if (path === '$' && Array.isArray(child) && child.some((each) => typeof each === 'object')) {
      group.end();
      addValue(builder, child, at);
    } else {
      group.add(pathLines(child, typeof key === 'number' ? '' : key), at);
    }
  }
  if (typeof value !== 'object' || value === null) {
    group.add(String(value), path);
  }
  group.end();
}

function pathLines(value: unknown, path: string): string {
  const lines: string[] = [];
  let length = 0;
  const write = (child: unknown, at: string, depth: number) => {
    if (depth > maxDepth) throw new ExtractionFailure('malformed');
    if (typeof child === 'object' && child !== null) {
      for (const [key, each] of childrenOf(child)) {
        const step = typeof key === 'number' ? `[${key}]` : at === '' ? key : `.${key}`;
        write(each, `${at}${step}`, depth + 1);
      }
    } else if (child !== null && child !== '') {
      const shown = typeof child === 'string' ? child : JSON.stringify(child);
      const line = at === '' ? shown : `${at}: ${shown}`;
      length += line.length;
      if (length > maxTextLength) throw new ExtractionFailure('too_large');
      lines.push(line);
    }
  };
  write(value, path, 0);
  return lines.join('\n');
}

function* childrenOf(value: unknown): Generator<[string | number, unknown]> {
  if (Array.isArray(value)) {
    yield* value.entries();
  } else if (typeof value === 'object' && value !== null) {
    yield* Object.entries(value);
  }
}
