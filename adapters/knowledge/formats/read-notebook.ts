import type { ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import { htmlParagraphs } from './html-paragraphs.ts';
import { markdownSections } from './markdown-sections.ts';
import { withoutHtmlTables } from './markdown-tables.ts';
import { TextBuilder } from './text-builder.ts';

interface Cell {
  cell_type?: unknown;
  source?: unknown;
  outputs?: unknown;
}

/** Terminals' sequences for colours. */
const colours = new RegExp(`${String.fromCodePoint(0x1b)}\\[[\\d;]{0,20}m`, 'g');

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
    const { text, data, ename, evalue } = output as Record<string, unknown>;
    const shown = typeof data === 'object' && data !== null ? shownText(data as Record<string, unknown>) : '';
    const fault = [textOf(ename), textOf(evalue)].filter((each) => each !== '').join(': ');
    return [textOf(text), shown, fault]
      .map((each) => each.replace(colours, '').trim())
      .filter((each) => each !== '');
  });
}

/** The form of an output that says most as text. */
function shownText(data: Record<string, unknown>): string {
  const [markdown, plain] = [textOf(data['text/markdown']), textOf(data['text/plain'])];
  if (markdown.trim() !== '') return markdown;
  if (plain.trim() !== '') return plain;
  const paragraphs = htmlParagraphs(textOf(data['text/html']));
  return paragraphs.flatMap((each) => (each.text.trim() === '' ? [] : [each.text.trim()])).join('\n');
}

/** Texts may be lists of lines. */
function textOf(value: unknown): string {
  return Array.isArray(value)
    ? value.filter((line) => typeof line === 'string').join('')
    : typeof value === 'string'
      ? value
      : '';
}
