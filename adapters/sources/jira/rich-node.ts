import type { TextRoom } from './text-room.ts';

/** A node of rich text, of whose members the service may say anything. */
export interface RichNode {
  type: unknown;
  text: unknown;
  content: readonly unknown[];
  marks: readonly unknown[];
  attrs: Readonly<Record<string, unknown>>;
}

export function nodeOf(value: unknown): RichNode {
  const { type, text, content, marks, attrs } = recordOf(value);
  return { type, text, content: listOf(content), marks: listOf(marks), attrs: recordOf(attrs) };
}

/** What a node takes of the room, whatever it says: it costs memory and time. */
const nodeLength = 32;

/** One after the other: a list may have millions. @throws TooLong */
export function* childrenOf(node: RichNode, room: TextRoom): Generator<RichNode> {
  for (const child of node.content) {
    room.take(nodeLength);
    yield nodeOf(child);
  }
}

export function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** All text beneath, of any depth. @throws TooLong */
export function flatText(node: RichNode, room: TextRoom, between = ' '): string {
  const found: string[] = [];
  room.take(node.content.length * nodeLength);
  const left: unknown[] = node.content.toReversed();
  while (left.length > 0) {
    const { text, content } = nodeOf(left.pop());
    room.take(content.length * nodeLength);
    if (typeof text === 'string') {
      found.push(text);
    }
    for (let at = content.length - 1; at >= 0; at -= 1) {
      left.push(content[at]);
    }
  }
  return found.join(between);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
