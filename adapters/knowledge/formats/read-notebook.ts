import type { ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import { markdownSections } from './markdown-sections.ts';
import { withoutHtmlTables } from './markdown-tables.ts';
import { TextBuilder } from './text-builder.ts';

interface Cell {
  cell_type?: unknown;
  source?: unknown;
  outputs?: unknown;
}

/** Terminals' sequences for colours. */
const colours = /\p{Cc}\[[\d;]{0,20}m/gu;

/** The cells of a notebook of Jupyter; null for other JSON. */
export function notebookCells(value: unknown): readonly Cell[] | null {
  if (typeof value !== 'object' || value === null || !('nbformat' in value) || !('cells' in value))
    return null;
  const { cells } = value;
  return Array.isArray(cells)
    ? cells.filter((cell: unknown): cell is Cell => typeof cell === 'object' && cell !== null)
    : null;
}

/** Markdown under its headings, code, and what it printed, without images: cell by cell, counted from 1. */
export function readNotebook(cells: readonly Cell[]): ExtractedText {
  const builder = new TextBuilder();
  let heading: string | null = null;
  for (const [index, cell] of cells.entries()) {
    const anchor = `cell ${index + 1}`;
    const source = textOf(cell.source);
    if (cell.cell_type === 'markdown') {
      const text = withoutHtmlTables(source);
      const sections = markdownSections(text);
      builder.addText({ text, sections: sections.map((each) => ({ ...each, anchor: null })) }, anchor);
      heading = sections.at(-1)?.heading ?? heading;
    } else {
      builder.add({ heading, page: null, anchor }, [source, ...outputsOf(cell.outputs)].join('\n').trim());
    }
  }
  return builder.build();
}

function outputsOf(outputs: unknown): string[] {
  return (Array.isArray(outputs) ? outputs : []).flatMap((output: unknown) => {
    if (typeof output !== 'object' || output === null) return [];
    const { text, data, evalue } = output as Record<string, unknown>;
    const plain =
      typeof data === 'object' && data !== null ? (data as Record<string, unknown>)['text/plain'] : null;
    return [text, plain, evalue]
      .map((each) => textOf(each).replace(colours, '').trim())
      .filter((each) => each !== '');
  });
}

/** Texts may be lists of lines. */
function textOf(value: unknown): string {
  return Array.isArray(value)
    ? value.filter((line) => typeof line === 'string').join('')
    : typeof value === 'string'
      ? value
      : '';
}
