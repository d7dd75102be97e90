import { Defuddle } from 'defuddle/node';
import { parseHTML } from 'linkedom';
import { plainTables } from './page-tables.ts';

interface MainText {
  /** Empty where the page has none. */
  title: string;
  markdown: string;
}

/**
 * Extracts the main text of a page as markdown. A hostile page may use up a processor or the heap, so this runs in a
 * thread that can be terminated. linkedom loads no resource; the readers that would call other sites are off.
 */
export async function readHtml(html: string): Promise<MainText> {
  const page = /<html[\s>]/i.test(html)
    ? html
    : `<!doctype html><html><head></head><body>${html}</body></html>`;
  const { document } = parseHTML(page);
  plainTables(document);
  const main = await Defuddle(document as never, 'about:blank', {
    markdown: true,
    useAsync: false,
    removeImages: true,
    fetch: () => Promise.reject(new Error('Extraction does not use the network.')),
  });
  return { title: main.title.replace(/\s+/g, ' ').trim(), markdown: main.content };
}
