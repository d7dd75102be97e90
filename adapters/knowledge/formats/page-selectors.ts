import { compile } from 'css-select';
import { AttributeAction, isTraversal, parse, SelectorType, type Selector } from 'css-what';
import { Document, Element, NodeList } from 'linkedom';

/** What is used of the nodes of the library. */
interface SelectedNode {
  nodeType: number;
  localName: string;
  data: string;
  classList: { value: string };
  childNodes: SelectedNode[];
  firstChild: SelectedNode | null;
  nextSibling: SelectedNode | null;
  parentNode: SelectedNode | null;
  parentElement: SelectedNode | null;
  previousElementSibling: SelectedNode | null;
  getAttribute(name: string): string | null;
  hasAttribute(name: string): boolean;
  hasAttributes(): boolean;
}

type Matcher = (element: SelectedNode) => boolean;

const [elementNode, textNode, documentNode] = [1, 3, 9];
/** Selectors that stay compiled; those with names of a page may be any number. */
const maxKnown = 1_000;
const known = new Map<string, Matcher>();

const isTag = ({ nodeType }: SelectedNode): boolean => nodeType === elementNode;
const childrenOf = ({ childNodes }: SelectedNode): SelectedNode[] => childNodes;
const textOf = (node: SelectedNode): string => {
  if (node.nodeType === textNode) return node.data;
  return isTag(node) ? childrenOf(node).map(textOf).join('') : '';
};
const unused = (): never => {
  throw new Error('Elements are looked for by their documents.');
};

/** As the library sees its nodes, and with the element before another one, which it looks for among all siblings. */
const adapter = {
  isTag: isTag as (node: SelectedNode) => node is SelectedNode,
  existsOne: (test: Matcher, nodes: SelectedNode[]): boolean =>
    nodes.some((node) => isTag(node) && (test(node) || adapter.existsOne(test, childrenOf(node)))),
  getAttributeValue: (element: SelectedNode, name: string) =>
    (name === 'class' ? element.classList.value : element.getAttribute(name)) ?? undefined,
  getChildren: childrenOf,
  getName: ({ localName }: SelectedNode) => localName.toLowerCase(),
  getParent: ({ parentNode }: SelectedNode) => parentNode,
  getSiblings: (node: SelectedNode) => (node.parentNode === null ? [node] : childrenOf(node.parentNode)),
  prevElementSibling: ({ previousElementSibling }: SelectedNode) => previousElementSibling,
  getText: textOf,
  hasAttrib: (element: SelectedNode, name: string) => element.hasAttribute(name),
  removeSubsets: unused,
  findAll: unused,
  findOne: unused,
};

/**
 * What an ancestor was once says nothing of later: elements change between two uses. Most elements have no attributes,
 * and most selectors ask for one.
 */
function matcherOf(scope: SelectedNode, selector: string): Matcher {
  const found = known.get(selector);
  if (found !== undefined) return found;
  const isScoped = selector.includes(':scope');
  const options = { adapter, cacheResults: false, ...(isScoped ? { context: scope } : {}) };
  const whole = compile<SelectedNode, SelectedNode>(parse(selector), options);
  const plain = parse(selector).filter((each) => !asksForAttribute(each));
  const bare = plain.length === 0 ? () => false : compile<SelectedNode, SelectedNode>(plain, options);
  const matcher = (element: SelectedNode) => (element.hasAttributes() ? whole(element) : bare(element));
  if (isScoped) return matcher;
  if (known.size === maxKnown) known.clear();
  known.set(selector, matcher);
  return matcher;
}

/** Whether an element without attributes does not match, whatever is around it. */
function asksForAttribute(selector: readonly Selector[]): boolean {
  const last = selector.slice(selector.findLastIndex(isTraversal) + 1);
  return last.some((each) => each.type === SelectorType.Attribute && each.action !== AttributeAction.Not);
}

/** The first elements that match within another node, in the order of the document, without what is in templates. */
function elementsIn(root: SelectedNode, matches: Matcher, limit: number): SelectedNode[] {
  const found = new NodeList() as SelectedNode[];
  // The declaration of a document does not know what follows it.
  for (const top of root.nodeType === documentNode ? childrenOf(root) : [root]) {
    let node = top === root ? nodeAfter(top, top) : top;
    while (node !== null && found.length < limit) {
      if (isTag(node) && matches(node)) found.push(node);
      node = nodeAfter(node, top);
    }
  }
  return found;
}

function nodeAfter(node: SelectedNode, root: SelectedNode): SelectedNode | null {
  const isClosed = node.nodeType === textNode || (node.localName === 'template' && node !== root);
  const child = isClosed ? null : node.firstChild;
  if (child !== null) return child;
  for (let at: SelectedNode | null = node; at !== null && at !== root; at = at.parentNode) {
    const next = at.nextSibling;
    if (next !== null) return next;
  }
  return null;
}

const methods = {
  matches(this: SelectedNode, selector: string): boolean {
    return matcherOf(this, selector)(this);
  },
  closest(this: SelectedNode, selector: string): SelectedNode | null {
    const matches = matcherOf(this, selector);
    if (matches(this)) return this;
    let element = this.parentElement;
    while (element !== null && !matches(element)) element = element.parentElement;
    return element;
  },
};

const queries = {
  querySelector(this: SelectedNode, selector: string): SelectedNode | null {
    return elementsIn(this, matcherOf(this, selector), 1)[0] ?? null;
  },
  querySelectorAll(this: SelectedNode, selector: string): SelectedNode[] {
    return elementsIn(this, matcherOf(this, selector), Infinity);
  },
};

/**
 * Selectors of the library's documents in time that grows with the document: it would compile each one each time, and go
 * through all elements of a parent for the one before another.
 */
export function useOwnSelectors(): void {
  const parent = Object.getPrototypeOf(Element.prototype) as object;
  Object.assign(Element.prototype, methods);
  Object.assign(parent, queries);
  Object.assign(Document.prototype, queries);
}
