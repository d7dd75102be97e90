import { childrenOf, flatText, nodeOf, type RichNode } from './rich-node.ts';
import { inlineText, isInline } from './rich-inline.ts';

/** Deeper than any editor nests; what lies beneath is read as plain text. */
const maxDepth = 40;

/**
 * Rich text of Jira (Atlassian Document Format) as Markdown, without emphasis and colours. A structure of any other kind
 * is read as far as it has text. Takes time in the order of the size, whatever the depth.
 */
export function richText(document: unknown): string {
  return typeof document === 'string' ? document : body(nodeOf(document), 0).trim();
}

type Renderer = (node: RichNode, depth: number) => string;

const renderers = new Map<unknown, Renderer>([
  ['heading', (node, depth) => `${'#'.repeat(levelOf(node))} ${oneLine(body(node, depth))}`],
  ['codeBlock', code],
  ['rule', () => '---'],
  ['bulletList', (node, depth) => list(node, depth, () => '- ')],
  ['decisionList', (node, depth) => list(node, depth, () => '- ')],
  ['orderedList', (node, depth) => list(node, depth, (at) => `${firstOf(node) + at}. `)],
  ['taskList', (node, depth) => list(node, depth, (_, item) => (isDone(item) ? '- [x] ' : '- [ ] '))],
  ['blockquote', (node, depth) => indented(body(node, depth), '> ')],
  ['panel', (node, depth) => indented(body(node, depth), '> ')],
  ['expand', titled],
  ['nestedExpand', titled],
  ['table', table],
]);

/** Runs of text within a line are a paragraph; everything else stands by itself. */
function body(node: RichNode, depth: number): string {
  const parts: string[] = [];
  let line = '';
  for (const child of childrenOf(node)) {
    if (isInline(child)) {
      line += inlineText(child);
    } else {
      parts.push(line.trim(), block(child, depth));
      line = '';
    }
  }
  return [...parts, line.trim()].filter((part) => part !== '').join('\n\n');
}

function block(node: RichNode, depth: number): string {
  return depth >= maxDepth ? flatText(node) : (renderers.get(node.type) ?? body)(node, depth + 1);
}

function list(node: RichNode, depth: number, markOf: (at: number, item: RichNode) => string): string {
  return childrenOf(node)
    .map((item, at) => {
      // A list within a list stands beside its items.
      const isList = renderers.has(item.type);
      const text = isList ? block(item, depth) : body(item, depth);
      const mark = isList ? '  ' : markOf(at, item);
      return text === '' ? '' : mark + indented(text, '  ').slice(2);
    })
    .filter((text) => text !== '')
    .join('\n');
}

function table(node: RichNode, depth: number): string {
  const rows = childrenOf(node).map((row) =>
    childrenOf(row).map((cell) => oneLine(body(cell, depth)).replaceAll('|', String.raw`\|`)),
  );
  const [first = [], ...rest] = rows.map((cells) => `| ${cells.join(' | ')} |`);
  const head = (rows[0] ?? []).map(() => '---').join(' | ');
  return rows.length === 0 ? '' : [first, `| ${head} |`, ...rest].join('\n');
}

function titled(node: RichNode, depth: number): string {
  const { title } = node.attrs;
  return [typeof title === 'string' ? title : '', body(node, depth)].filter(Boolean).join('\n\n');
}

function code(node: RichNode): string {
  const text = flatText(node, '');
  const { language } = node.attrs;
  const fence = text.includes('```') ? '~~~~' : '```';
  const named = typeof language === 'string' && /^[\w+#.-]{1,40}$/.test(language) ? language : '';
  return `${fence}${named}\n${text}\n${fence}`;
}

function levelOf({ attrs: { level } }: RichNode): number {
  return typeof level === 'number' && level >= 1 && level <= 6 ? Math.floor(level) : 1;
}

function firstOf({ attrs: { order } }: RichNode): number {
  return typeof order === 'number' && order >= 0 && order <= 1e9 ? Math.floor(order) : 1;
}

function isDone({ attrs: { state } }: RichNode): boolean {
  return state === 'DONE';
}

function indented(text: string, by: string): string {
  return by + text.replaceAll('\n', `\n${by}`);
}

function oneLine(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .join(' ');
}
