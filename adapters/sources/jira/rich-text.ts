import { childrenOf, flatText, nodeOf, type RichNode } from './rich-node.ts';
import { inlineText, isInline } from './rich-inline.ts';
import type { TextRoom } from './text-room.ts';

/** Few people nest deeper; what lies beneath is read as plain text. Each level lengthens every line within it. */
const maxDepth = 10;

/** Where a node stands. */
interface Place {
  depth: number;
  isInCell: boolean;
  room: TextRoom;
}

/**
 * Rich text of Jira (Atlassian Document Format) as Markdown, without emphasis and colours. A structure of any other kind
 * is read as far as it has text. All that is written is counted before it is made: takes time in the order of the size
 * and of the room.
 * @throws TooLong where it is longer than the room
 */
export function richText(document: unknown, room: TextRoom): string {
  return typeof document === 'string'
    ? room.takeText(document)
    : body(nodeOf(document), { depth: 0, isInCell: false, room }).trim();
}

type Renderer = (node: RichNode, place: Place) => string;

const renderers = new Map<unknown, Renderer>([
  ['heading', (node, place) => marked(`${'#'.repeat(levelOf(node))} `, oneLine(body(node, place)), place)],
  ['codeBlock', code],
  ['rule', (_, { room }) => room.takeText('---')],
  ['bulletList', (node, place) => list(node, place, () => '- ')],
  ['decisionList', (node, place) => list(node, place, () => '- ')],
  ['orderedList', (node, place) => list(node, place, (at) => `${firstOf(node) + at}. `)],
  ['taskList', (node, place) => list(node, place, (_, item) => (isDone(item) ? '- [x] ' : '- [ ] '))],
  ['blockquote', (node, place) => marked('> ', indented(body(node, place), '> ', place), place)],
  ['panel', (node, place) => marked('> ', indented(body(node, place), '> ', place), place)],
  ['expand', titled],
  ['nestedExpand', titled],
  ['table', table],
]);

/** Runs of text within a line are a paragraph; everything else stands by itself. */
function body(node: RichNode, place: Place): string {
  const { room } = place;
  const parts: string[] = [];
  let line = '';
  for (const child of childrenOf(node, room)) {
    if (isInline(child)) {
      line += room.takeText(inlineText(child));
    } else {
      parts.push(line.trim(), block(child, place));
      line = '';
    }
  }
  const shown = [...parts, line.trim()].filter((part) => part !== '');
  room.take(2 * shown.length);
  return shown.join('\n\n');
}

function block(node: RichNode, { depth, isInCell, room }: Place): string {
  // The format has no table within a cell, and Markdown neither.
  const isFlat = depth >= maxDepth || (isInCell && node.type === 'table');
  return isFlat
    ? room.takeText(flatText(node, room))
    : (renderers.get(node.type) ?? body)(node, { depth: depth + 1, isInCell, room });
}

function list(node: RichNode, place: Place, markOf: (at: number, item: RichNode) => string): string {
  return Array.from(childrenOf(node, place.room), (item, at) => {
    // A list within a list stands beside its items.
    const isList = renderers.has(item.type);
    const text = isList ? block(item, place) : body(item, place);
    const mark = isList ? '  ' : markOf(at, item);
    return text === '' ? '' : `${marked(mark, indented(text, '  ', place), place)}\n`;
  })
    .join('')
    .slice(0, -1);
}

function table(node: RichNode, place: Place): string {
  const { room } = place;
  const rows = Array.from(childrenOf(node, room), (row) =>
    Array.from(childrenOf(row, room), (cell) =>
      escaped(oneLine(body(cell, { ...place, isInCell: true })), room),
    ),
  );
  const [head = []] = rows;
  room.take(rows.reduce((sum, cells) => sum + 3 * cells.length + 5, 6 * head.length + 5));
  const [first = '', ...rest] = rows.map((cells) => `| ${cells.join(' | ')} |`);
  return rows.length === 0 ? '' : [first, `| ${head.map(() => '---').join(' | ')} |`, ...rest].join('\n');
}

function titled(node: RichNode, place: Place): string {
  const { title } = node.attrs;
  const shown = typeof title === 'string' ? place.room.takeText(title) : '';
  place.room.take(2);
  return [shown, body(node, place)].filter(Boolean).join('\n\n');
}

function code(node: RichNode, { room }: Place): string {
  const text = flatText(node, room, '');
  const { language } = node.attrs;
  const fence = text.includes('```') ? '~~~~' : '```';
  const named = typeof language === 'string' && /^[\w+#.-]{1,40}$/.test(language) ? language : '';
  return room.takeText(`${fence}${named}\n${text}\n${fence}`);
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

/** With a mark before its first line. The text itself was counted before. */
function marked(mark: string, text: string, { room }: Place): string {
  room.take(mark.length + 1);
  return mark + text;
}

/** With a prefix before each line but the first. */
function indented(text: string, prefix: string, { room }: Place): string {
  room.take(countOf(text, '\n') * prefix.length);
  return text.replaceAll('\n', `\n${prefix}`);
}

function escaped(text: string, room: TextRoom): string {
  room.take(countOf(text, '|'));
  return text.replaceAll('|', String.raw`\|`);
}

function countOf(text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) {
    count += 1;
  }
  return count;
}

function oneLine(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .join(' ');
}
