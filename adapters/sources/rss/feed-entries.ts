import type { parseFeed } from 'feedsmith';
import { readXml } from '../../knowledge/formats/xml-reader.ts';
import { escapeHtml } from '../shared/escape-html.ts';

export interface FeedEntry {
  /** Of the entry in its feed; null: it has none. */
  id: string | null;
  title: string;
  link: string | null;
  date: string | null;
  html: string;
}

export interface ReadFeed {
  title: string;
  entries: FeedEntry[];
}

type AnyFeed = ReturnType<typeof parseFeed<string>>;
interface Text {
  value?: string | undefined;
  type?: string | undefined;
}

/** Newest first, by habit of feeds. */
const maxEntries = 10_000;

/** The entries of a feed of any format. */
export function entriesOf({ format, feed }: AnyFeed): ReadFeed {
  switch (format) {
    case 'rss':
      return readFeed(feed.title, feed.items, (item) => ({
        id: item.guid?.value ?? item.link,
        title: item.title,
        link: item.link ?? (item.guid?.isPermaLink === false ? undefined : item.guid?.value),
        date: item.pubDate,
        html: item.content?.encoded ?? item.description,
      }));
    case 'rdf':
      return readFeed(feed.title, feed.items, (item) => ({
        id: item.rdf?.about ?? item.link,
        title: item.title,
        link: item.link,
        date: undefined,
        html: item.content?.encoded ?? item.description,
      }));
    case 'atom':
      return readFeed(plainOf(feed.title), feed.entries, (entry) => ({
        id: entry.id,
        title: plainOf(entry.title),
        link: entry.links?.find(({ rel }) => rel === undefined || rel === 'alternate')?.href,
        date: entry.updated ?? entry.published,
        html: htmlOf(entry.content) ?? htmlOf(entry.summary),
      }));
    case 'json':
      return readFeed(feed.title, feed.items, (item) => ({
        id: item.id ?? item.url,
        title: item.title,
        link: item.url ?? item.external_url,
        date: item.date_modified ?? item.date_published,
        html: item.content_html ?? htmlOf({ value: item.content_text ?? item.summary }),
      }));
  }
}

function readFeed<Item>(
  title: string | undefined,
  items: readonly Item[] | undefined,
  read: (item: Item) => { [Field in keyof FeedEntry]: string | undefined },
): ReadFeed {
  const entries = (items ?? []).slice(0, maxEntries).map((item) => {
    const { id, title: name, link, date, html } = read(item);
    return {
      id: id?.trim() || null,
      title: name?.trim() ?? '',
      link: link ?? null,
      date: date ?? null,
      html: html ?? '',
    };
  });
  return { title: title?.trim() ?? '', entries };
}

/** Of Atom, where text without a type is plain; content of other types is no text. */
function htmlOf(text: Text | undefined): string | undefined {
  const { value, type = 'text' } = text ?? {};
  if (type === 'html' || type === 'xhtml' || type === 'text/html') {
    return value;
  }
  return value !== undefined && (type === 'text' || type.startsWith('text/'))
    ? `<p>${escapeHtml(value)}</p>`
    : undefined;
}

function plainOf(text: Text | undefined): string | undefined {
  const { value, type = 'text' } = text ?? {};
  if (value === undefined || type === 'text') {
    return value;
  }
  const parts: string[] = [];
  readXml(value, { open: () => {}, close: () => {}, text: (part) => parts.push(part) }, true);
  return parts.join('');
}
