import { own } from '#domain/foundation/kernel/own.ts';
import { nodeOf, recordOf, type RichNode } from './rich-node.ts';

type Attributes = RichNode['attrs'];

const renderers = new Map<unknown, (node: RichNode) => string>([
  ['text', marked],
  ['hardBreak', () => '\n'],
  ['mention', ({ attrs }) => textIn(attrs, 'text') || `@${textIn(attrs, 'id')}`],
  ['emoji', ({ attrs }) => textIn(attrs, 'text') || textIn(attrs, 'shortName')],
  ['status', ({ attrs }) => `[${textIn(attrs, 'text')}]`],
  ['date', ({ attrs }) => dateOf(textIn(attrs, 'timestamp'))],
  ['inlineCard', ({ attrs }) => addressOf(attrs)],
  ['blockCard', ({ attrs }) => `${addressOf(attrs)}\n`],
  ['embedCard', ({ attrs }) => `${addressOf(attrs)}\n`],
  ['media', ({ attrs }) => fileOf(attrs)],
  ['mediaInline', ({ attrs }) => fileOf(attrs)],
  ['inlineExtension', ({ attrs }) => textIn(attrs, 'text')],
  ['placeholder', () => ''],
]);

/** Whether a node stands within a line, rather than by itself. */
export function isInline({ type }: RichNode): boolean {
  return renderers.has(type);
}

export function inlineText(node: RichNode): string {
  return renderers.get(node.type)?.(node) ?? '';
}

/** With the targets of links and the marks of code; emphasis would split words. */
function marked({ text, marks }: RichNode): string {
  let shown = typeof text === 'string' ? text : '';
  for (const { type, attrs } of marks.slice(0, 20).map(nodeOf)) {
    if (type === 'code') {
      shown = `\`${shown}\``;
    } else if (type === 'link') {
      const href = textIn(attrs, 'href');
      shown = !isAddress(href) || href === text ? shown : `[${shown}](${href})`;
    }
  }
  return shown;
}

function textIn(attrs: Attributes, name: string): string {
  const value = own(attrs, name);
  return typeof value === 'string' ? value : '';
}

function addressOf(attrs: Attributes): string {
  const url = textIn(attrs, 'url') || textIn(recordOf(attrs['data']), 'url');
  return isAddress(url) ? url : '';
}

function fileOf(attrs: Attributes): string {
  const alt = textIn(attrs, 'alt');
  return alt === '' ? '' : `[file: ${alt}]`;
}

/** @param timestamp milliseconds, as a text */
function dateOf(timestamp: string): string {
  const time = new Date(Number(timestamp || Number.NaN));
  return Number.isNaN(time.getTime()) ? '' : time.toISOString().slice(0, 10);
}

function isAddress(text: string): boolean {
  return text.length <= 4_000 && /^(?:https?:\/\/|mailto:)\S+$/.test(text);
}
