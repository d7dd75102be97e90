import { randomUUID } from 'node:crypto';

export interface FakeBlock {
  id: string;
  type: string;
  content: Record<string, unknown>;
  children: FakeBlock[];
  inTrash: boolean;
}

/** Text in parts of at most 2,000 characters, as Notion has it. */
export function richText(text: string, href: string | null = null): object[] {
  const parts = text.match(/[^]{1,2000}/gu) ?? [];
  return parts.map((part) => ({
    type: 'text',
    text: { content: part, link: href === null ? null : { url: href } },
    annotations: {
      bold: false,
      italic: false,
      strikethrough: false,
      underline: false,
      code: false,
      color: 'default',
    },
    plain_text: part,
    href,
  }));
}

/** A block with a text, and what stands in it. */
export function say(type: string, text: string, children: FakeBlock[] = []): FakeBlock {
  return block(type, { rich_text: richText(text), color: 'default' }, children);
}

export function block(type: string, content: Record<string, unknown>, children: FakeBlock[] = []): FakeBlock {
  return { id: randomUUID(), type, content, children, inTrash: false };
}

/** Paragraphs of at most a hundred parts. */
export function paragraphs(text: string): FakeBlock[] {
  const found: FakeBlock[] = [];
  for (let at = 0; at < text.length; at += 200_000) {
    found.push(say('paragraph', text.slice(at, at + 200_000)));
  }
  return found;
}

export function shownBlock({ id, type, content, children, inTrash }: FakeBlock): object {
  return {
    object: 'block',
    id,
    parent: { type: 'page_id', page_id: id },
    created_time: '2025-01-01T00:00:00.000Z',
    last_edited_time: '2025-01-01T00:00:00.000Z',
    created_by: { object: 'user', id },
    last_edited_by: { object: 'user', id },
    has_children: children.length > 0,
    in_trash: inTrash,
    type,
    [type]: content,
  };
}
