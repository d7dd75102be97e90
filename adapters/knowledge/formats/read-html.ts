import { DefuddleClass } from 'defuddle/node';
import { parseHTML } from 'linkedom';
import { separateFormulas } from './page-formulas.ts';
import { withShortLists } from './page-lists.ts';
import { useOwnSelectors } from './page-selectors.ts';
import { plainTables } from './page-tables.ts';

interface MainText {
  /** Empty where the page has none. */
  title: string;
  markdown: string;
}

type ToMarkdown = (html: string, url: string) => string;

const address = 'about:blank';
useOwnSelectors();

/**
 * Extracts the main text of a page as markdown. A hostile page may use up a processor or the heap, so this runs in a
 * thread that can be terminated. linkedom loads no resource; the readers that would call other sites are off.
 */
export async function readHtml(html: string): Promise<MainText> {
  const page = /<html[\s>]/i.test(html)
    ? html
    : `<!doctype html><html><head></head><body>${html}</body></html>`;
  const { document } = parseHTML(page);
  separateFormulas(document);
  plainTables(document);
  const main = await new DefuddleClass(document as never, {
    url: address,
    useAsync: false,
    removeImages: true,
    fetch: () => Promise.reject(new Error('Extraction does not use the network.')),
  }).parseAsync();
  const toMarkdown = await markdownWriter();
  const markdown = toMarkdown(withShortLists(main.content), address);
  return { title: main.title.replace(/\s+/g, ' ').trim(), markdown };
}

/** That of the package, which it calls by itself only with the whole page. */
async function markdownWriter(): Promise<ToMarkdown> {
  const module = new URL('markdown.js', import.meta.resolve('defuddle/node'));
  const { createMarkdownContent } = (await import(module.href)) as { createMarkdownContent: ToMarkdown };
  return createMarkdownContent;
}
