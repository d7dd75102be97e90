import type { PageDocument, PageNode } from './page-nodes.ts';

const shownAddress = / \((https?:\/\/\S+)\)(?=[\s;:]|$)/i;

/** The contents of cells, apart from each other. */
export function contents(document: PageDocument, cells: readonly PageNode[]): PageNode {
  const all = document.createElement('div');
  for (const cell of cells) {
    const content = document.createElement('div');
    while (cell.firstChild !== null) content.append?.(cell.firstChild);
    all.append?.(content);
  }
  return all;
}

/** Addresses as links with the names of their servers: markdown would escape characters of others. */
function linked(document: PageDocument, line: string): (PageNode | string)[] {
  return line.split(shownAddress).flatMap((part, at) => {
    if (at % 2 === 0) return [part];
    const link = document.createElement('a');
    link.setAttribute?.('href', part);
    link.textContent = part.split('/')[2] ?? part;
    return [' (', link, ')'];
  });
}

/** A paragraph for each line. */
export function paragraphs(document: PageDocument, lines: readonly string[]): PageNode {
  const all = document.createElement('div');
  for (const line of lines) {
    const paragraph = document.createElement('p');
    paragraph.append?.(...linked(document, line));
    all.append?.(paragraph);
  }
  return all;
}
