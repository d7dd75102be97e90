import { parseHTML } from 'linkedom';
import type { PageDocument, PageNode } from './page-nodes.ts';

/** Items of a list from which on it is written in parts, and of a part. */
const maxItems = 100;

interface List extends PageNode {
  readonly children: readonly PageNode[];
}

interface ListDocument extends PageDocument {
  readonly body: { readonly innerHTML: string };
  querySelectorAll(selector: string): readonly List[];
}

/**
 * HTML with its long numbered lists in parts, each of which goes on counting: what makes markdown of it looks for the
 * number of an item among all others of its list.
 */
export function withShortLists(html: string): string {
  if (html.split('<li', maxItems + 2).length <= maxItems + 1) return html;
  const page = `<!doctype html><html><head></head><body>${html}</body></html>`;
  const document = parseHTML(page).document as unknown as ListDocument;
  const long = document.querySelectorAll('ol').filter(({ children }) => children.length > maxItems);
  for (const list of long) split(document, list);
  return long.length === 0 ? html : document.body.innerHTML;
}

function split(document: ListDocument, list: List): void {
  const start = list.getAttribute?.('start') ?? '';
  const parts: PageNode[] = [];
  for (const [index, item] of list.children.entries()) {
    if (index % maxItems === 0) {
      const part = document.createElement('ol');
      part.setAttribute?.('start', String((start === '' ? 1 : Number(start)) + index));
      parts.push(part);
    }
    parts.at(-1)?.append?.(item);
  }
  list.replaceWith?.(...parts);
}
