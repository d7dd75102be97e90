import { z } from 'zod';
import { own } from '#domain/foundation/kernel/own.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { asMarkdown, linkedText, oneLine, plainText, richTextMarkdown } from './rich-text.ts';
import { richText } from './value-wire.ts';
import type { Block } from './wire.ts';

const content = z.object({
  rich_text: richText.default([]),
  caption: richText.default([]),
  cells: z.array(richText).default([]),
  title: z.union([z.string(), richText]).nullish(),
  url: z.string().nullish(),
  external: z.object({ url: z.string() }).nullish(),
  name: z.string().nullish(),
  expression: z.string().default(''),
  language: z.string().nullish(),
  checked: z.boolean().default(false),
});
type Content = z.output<typeof content>;

/** What a block says by itself, as Markdown. */
export interface BlockText {
  text: string;
  /** Before its first line. */
  lead: string;
  /** Before its other lines, and before every line of the blocks within it. */
  inner: string;
}

/** @param place of the block in a row of its kind, from 1 on */
type Render = (content: Content, place: number) => BlockText;

const plain =
  (toText: (of: Content) => string): Render =>
  (of) => ({ text: toText(of), lead: '', inner: '' });
const led =
  (leadOf: (of: Content, place: number) => string): Render =>
  (of, place) => {
    const lead = leadOf(of, place);
    const inner = lead === '> ' ? lead : ' '.repeat(lead.startsWith('- ') ? 2 : lead.length);
    return { text: richTextMarkdown(of.rich_text), lead, inner };
  };
/** The title of the page is the first heading. */
const heading =
  (level: number): Render =>
  ({ rich_text: parts }) => ({
    text: oneLine(linkedText(parts)),
    lead: `${'#'.repeat(level + 1)} `,
    inner: '',
  });
const text = plain(({ rich_text: parts }) => richTextMarkdown(parts));
const link = plain(({ caption, url }) =>
  [richTextMarkdown(caption), asMarkdown(url ?? '')].filter(Boolean).join(' '),
);
/** Addresses of files at Notion are signed and expire: only those elsewhere are shown. */
const file = plain(({ caption, name, external }) =>
  [richTextMarkdown(caption), asMarkdown(name ?? ''), asMarkdown(external?.url ?? '')]
    .filter(Boolean)
    .join(' '),
);
const title = plain(({ title: given }) =>
  asMarkdown(oneLine(typeof given === 'string' ? given : plainText(given ?? []))),
);

const renders = new Map<string, Render>([
  ['paragraph', text],
  ['toggle', text],
  ['template', text],
  ['heading_1', heading(1)],
  ['heading_2', heading(2)],
  ['heading_3', heading(3)],
  ['heading_4', heading(4)],
  ['bulleted_list_item', led(() => '- ')],
  ['numbered_list_item', led((_, place) => `${place}. `)],
  ['to_do', led(({ checked }) => (checked ? '- [x] ' : '- [ ] '))],
  ['quote', led(() => '> ')],
  ['callout', led(() => '> ')],
  ['code', plain(codeText)],
  ['equation', plain(({ expression }) => (expression === '' ? '' : `$$${oneLine(expression)}$$`))],
  ['table_row', (of, place) => ({ text: rowText(of, place), lead: '', inner: '' })],
  ['child_page', title],
  ['child_database', title],
  ['meeting_notes', title],
  ['bookmark', link],
  ['embed', link],
  ['link_preview', link],
  ['image', file],
  ['video', file],
  ['audio', file],
  ['pdf', file],
  ['file', file],
]);
const nothing: BlockText = { text: '', lead: '', inner: '' };

/** Nothing for a block of an unknown type, or without a text of its own. @throws SourceFailure */
export function blockText(block: Block, place: number): BlockText {
  const render = renders.get(block.type);
  if (render === undefined) {
    return nothing;
  }
  const parsed = content.safeParse(own(block, block.type));
  if (!parsed.success) {
    throw new SourceFailure('source_invalid', 'Notion gives a block in another form than documented.');
  }
  return render(parsed.data, place);
}

function codeText({ rich_text: parts, caption, language }: Content): string {
  const code = plainText(parts);
  const longest = (code.match(/`+/g) ?? []).reduce((length, { length: of }) => Math.max(length, of), 2);
  const fence = '`'.repeat(Math.min(longest, 10_000) + 1);
  const name = /^[\w+#.-]{1,40}$/.exec(language ?? '')?.[0] ?? '';
  const fenced = code === '' ? '' : `${fence}${name}\n${code}\n${fence}`;
  return [fenced, richTextMarkdown(caption)].filter(Boolean).join('\n\n');
}

/** Markdown has no table without a header: the first row is taken for it. */
function rowText({ cells }: Content, place: number): string {
  const shown = cells.map((cell) => oneLine(plainText(cell)).replaceAll('|', '\\|'));
  const row = `| ${shown.join(' | ')} |`;
  return place === 1 ? `${row}\n|${' --- |'.repeat(cells.length)}` : row;
}
