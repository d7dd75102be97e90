import { HtmlTableReader } from './html-table-reader.ts';
import { isPlainText, textNode, walk, type PageDocument, type PageNode } from './page-nodes.ts';
import { contents, paragraphs } from './page-paragraphs.ts';
import { raisedMark } from './raised-mark.ts';

const spans = ['colspan', 'rowspan'];
/** Equations are tables to some programs. */
const equation = /\bltx_|\bnumblk\b/;
/** They do not divide a word. */
const inline = /^(?:a|abbr|b|code|em|font|i|small|span|strong|sub|sup|u|var)$/;
const separate = /^(?:br|p|div|li|dt|dd)$/;

/** Characters of the address of a link. */
const maxAddress = 500;

/** Rows of a table of one column that is replaced by its contents: the search for the main text compares each with each. */
const maxColumn = 500;

/** A table that is open: its cells, whether it has other tables, and whether it may be of one column. */
interface Layout {
  cells: PageNode[];
  isOuter: boolean;
  isColumn: boolean;
}

/**
 * Replaces tables of values by a paragraph for each row, and tables that hold others by their contents, and makes raised
 * and lowered text plain: markdown has neither cells that span several places nor such text, and would keep them as
 * markup.
 */
export function plainTables(document: PageDocument): void {
  const changes: (() => void)[] = [];
  const tables = new HtmlTableReader();
  const layouts: Layout[] = [];
  let last = '';
  const raised = new Set<PageNode>();
  const enter = (node: PageNode) => {
    const { localName: name = '' } = node;
    if (node.nodeType === textNode) {
      tables.text(node.textContent ?? '');
      last = node.textContent?.at(-1) ?? last;
    } else if (name !== '' && !inline.test(name)) last = '';
    if (name === 'sup' && isPlainText(node) && raisedMark(last, node.textContent ?? '') !== '') {
      raised.add(node);
      tables.text('^');
    }
    if (separate.test(name)) tables.text(' ');
    tables.open(name, () => spansOf(node), 0);
    const layout = layouts.at(-1);
    if (name === 'table') {
      if (layout !== undefined) layout.isOuter = true;
      layouts.push({ cells: [], isOuter: false, isColumn: true });
    } else if ((name === 'td' || name === 'th') && layout !== undefined) {
      layout.isColumn &&= name === 'td' && layout.cells.at(-1)?.parentNode !== node.parentNode;
      layout.cells.push(node);
    }
  };
  const leave = (node: PageNode) => {
    const { localName: name = '', className = '' } = node;
    if (name === 'a') tables.address(addressOf(node));
    const table = tables.close(name);
    if (table !== null && !equation.test(className)) {
      const caption = node.querySelector?.('caption')?.textContent?.trim() ?? '';
      const lines = caption === '' ? table.lines : [caption, ...table.lines];
      changes.push(() => node.replaceWith?.(paragraphs(document, lines)));
    }
    const layout = name === 'table' ? layouts.pop() : undefined;
    const isColumn = layout?.isColumn === true && layout.cells.length > maxColumn && table === null;
    if (layout !== undefined && (layout.isOuter || isColumn))
      changes.push(() => node.replaceWith?.(contents(document, layout.cells)));
    else
      for (const cell of table === null ? (layout?.cells ?? []) : []) changes.push(() => withoutSpans(cell));
    if ((name === 'sup' || name === 'sub') && isPlainText(node))
      changes.push(() => node.replaceWith?.(`${raised.has(node) ? '^' : ''}${node.textContent ?? ''}`));
  };
  if (document.documentElement !== null) walk(document.documentElement, { enter, leave });
  for (const change of changes) change();
}

/** What follows the text of a link within a row, which has no markup. */
function addressOf(link: PageNode): string {
  const href = link.getAttribute?.('href')?.trim() ?? '';
  const isShown = /^https?:\/\/\S+$/i.test(href) && href.length <= maxAddress;
  const isText = isPlainText(link) && link.textContent?.trim() === href;
  return isShown && !isText ? ` (${href})` : '';
}

function spansOf(node: PageNode): ReadonlyMap<string, string> {
  return new Map(spans.map((name) => [name, node.getAttribute?.(name) ?? '']));
}

function withoutSpans(cell: PageNode): void {
  for (const name of spans) cell.removeAttribute?.(name);
}
