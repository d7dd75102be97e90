import { HtmlTableReader } from './html-table-reader.ts';

/** What is used of the nodes of a page. */
export interface PageNode {
  readonly nodeType: number;
  readonly localName?: string;
  readonly className?: string;
  readonly firstChild: PageNode | null;
  readonly nextSibling: PageNode | null;
  readonly parentNode: PageNode | null;
  textContent: string | null;
  getAttribute?(name: string): string | null;
  removeAttribute?(name: string): void;
  querySelector?(selector: string): PageNode | null;
  append?(...nodes: (PageNode | string)[]): void;
  replaceWith?(...nodes: (PageNode | string)[]): void;
}

export interface PageDocument extends PageNode {
  readonly documentElement: PageNode | null;
  createElement(name: string): PageNode;
}

const textNode = 3;
const spans = ['colspan', 'rowspan'];
/** Equations are tables to some programs. */
const equation = /\bltx_|\bnumblk\b/;
const silent = /^(?:script|style|template|noscript)$/;
const separate = /^(?:br|p|div|li|dt|dd)$/;

/** A table that is open: its cells, and whether it has other tables. */
interface Layout {
  cells: PageNode[];
  isOuter: boolean;
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
  const enter = (node: PageNode) => {
    const { localName: name = '' } = node;
    if (node.nodeType === textNode) tables.text(node.textContent ?? '');
    if (separate.test(name)) tables.text(' ');
    tables.open(name, () => spansOf(node), 0);
    const layout = layouts.at(-1);
    if (name === 'table') {
      if (layout !== undefined) layout.isOuter = true;
      layouts.push({ cells: [], isOuter: false });
    } else if (name === 'td' || name === 'th') layout?.cells.push(node);
  };
  const leave = (node: PageNode) => {
    const { localName: name = '', className = '' } = node;
    const table = tables.close(name);
    if (table !== null && !equation.test(className)) {
      const caption = node.querySelector?.('caption')?.textContent?.trim() ?? '';
      const lines = caption === '' ? table.lines : [caption, ...table.lines];
      changes.push(() => node.replaceWith?.(paragraphs(document, lines)));
    }
    const layout = name === 'table' ? layouts.pop() : undefined;
    if (layout?.isOuter === true) changes.push(() => node.replaceWith?.(contents(document, layout.cells)));
    else
      for (const cell of table === null ? (layout?.cells ?? []) : []) changes.push(() => withoutSpans(cell));
    const isText = node.firstChild?.nodeType === textNode && node.firstChild.nextSibling === null;
    if ((name === 'sup' || name === 'sub') && isText)
      changes.push(() => node.replaceWith?.(node.textContent ?? ''));
  };
  if (document.documentElement !== null) walk(document.documentElement, { enter, leave });
  for (const change of changes) change();
}

/** Every node once, whatever the depth. */
function walk(root: PageNode, { enter, leave }: Record<'enter' | 'leave', (node: PageNode) => void>): void {
  let node: PageNode | null = root;
  while (node !== null) {
    enter(node);
    const child: PageNode | null = silent.test(node.localName ?? '') ? null : node.firstChild;
    if (child !== null) {
      node = child;
      continue;
    }
    while (node !== null) {
      leave(node);
      if (node === root) return;
      if (node.nextSibling !== null) break;
      node = node.parentNode;
    }
    node = node?.nextSibling ?? null;
  }
}

function spansOf(node: PageNode): ReadonlyMap<string, string> {
  return new Map(spans.map((name) => [name, node.getAttribute?.(name) ?? '']));
}

/** The contents of cells, apart from each other. */
function contents(document: PageDocument, cells: readonly PageNode[]): PageNode {
  const all = document.createElement('div');
  for (const cell of cells) {
    const content = document.createElement('div');
    while (cell.firstChild !== null) content.append?.(cell.firstChild);
    all.append?.(content);
  }
  return all;
}

function withoutSpans(cell: PageNode): void {
  for (const name of spans) cell.removeAttribute?.(name);
}

function paragraphs(document: PageDocument, lines: readonly string[]): PageNode {
  const all = document.createElement('div');
  for (const line of lines) {
    const paragraph = document.createElement('p');
    paragraph.textContent = line;
    all.append?.(paragraph);
  }
  return all;
}
