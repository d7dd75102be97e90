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
  setAttribute?(name: string, value: string): void;
  removeAttribute?(name: string): void;
  querySelector?(selector: string): PageNode | null;
  append?(...nodes: (PageNode | string)[]): void;
  replaceWith?(...nodes: (PageNode | string)[]): void;
}

export interface PageDocument extends PageNode {
  readonly documentElement: PageNode | null;
  createElement(name: string): PageNode;
  querySelectorAll(selector: string): readonly PageNode[];
}

/** The `nodeType` of a text. */
export const textNode = 3;
const silent = /^(?:script|style|template|noscript)$/;

/** Every node once, whatever the depth. */
export function walk(
  root: PageNode,
  { enter, leave }: Record<'enter' | 'leave', (node: PageNode) => void>,
): void {
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

export const isPlainText = ({ firstChild }: PageNode): boolean =>
  firstChild?.nodeType === textNode && firstChild.nextSibling === null;
