import type { Paragraph } from './headed-text.ts';
import { HtmlTableReader } from './html-table-reader.ts';
import { raisedMark } from './raised-mark.ts';
import { readXml } from './xml-reader.ts';

const blocks = new Set(
  (
    'address article aside blockquote body br caption dd details div dl dt fieldset figcaption figure footer form ' +
    'h1 h2 h3 h4 h5 h6 head header hr html li main nav ol p pre section summary table tbody tfoot thead title tr ul'
  ).split(' '),
);
const skipped = new Set(['script', 'style', 'template', 'noscript', 'svg', 'math', 'iframe', 'head', 'rt']);

/** All text of a page by its headings, without choosing its main part, in time that grows with its length. */
export function htmlParagraphs(html: string): Paragraph[] {
  const paragraphs: Paragraph[] = [];
  const tables = new HtmlTableReader();
  /** Those of paragraphs that are titles of tables. */
  const captions = new Set<Paragraph>();
  let [text, level, skipping, pre]: [string[], number, number, number] = [[], 0, 0, 0];
  /** What stands before raised text that begins. */
  let [last, before] = ['', ''];
  const end = () => {
    const line = text.join('');
    paragraphs.push({ text: pre > 0 ? line : line.replace(/\s+/g, ' ').trim(), level });
    text = [];
    last = '';
  };
  readXml(
    html,
    {
      open: (name, attributes) => {
        if (skipped.has(name)) skipping += 1;
        if (blocks.has(name)) end();
        if (/^h[1-6]$/.test(name)) level = Number(name[1]);
        if (name === 'pre') pre += 1;
        before = name === 'sup' ? last : '';
        if (name === 'td' || name === 'th') text.push(' ');
        else if (blocks.has(name)) tables.text(' ');
        tables.open(name, attributes, paragraphs.length);
      },
      close: (name) => {
        before = '';
        if (name === 'td' || name === 'th') {
          text.push('\t');
          last = '';
        }
        if (blocks.has(name)) end();
        const [table, caption] = [tables.close(name), paragraphs.at(-1)];
        if (name === 'caption' && caption !== undefined) captions.add(caption);
        if (table !== null) {
          const titles = paragraphs.splice(table.start).filter((each) => captions.has(each));
          for (const title of titles) paragraphs.push(title);
          for (const line of table.lines) paragraphs.push({ text: line, level: 0 });
        }
        if (/^h[1-6]$/.test(name)) level = 0;
        if (name === 'pre') pre -= 1;
        if (skipped.has(name)) skipping -= 1;
      },
      text: (part) => {
        if (skipping > 0) return;
        const marked = raisedMark(before, part) + part;
        before = '';
        last = part.at(-1) ?? last;
        text.push(marked);
        tables.text(marked);
      },
    },
    true,
  );
  end();
  return paragraphs;
}
