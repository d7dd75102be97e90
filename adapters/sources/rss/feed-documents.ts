import { createHash } from 'node:crypto';
import type { ListedDocument } from '#domain/knowledge/connectors/source.ts';
import { escapeHtml } from '../shared/escape-html.ts';
import type { FeedEntry, ReadFeed } from './feed-entries.ts';

const maxIdBytes = 500;
const maxNameLength = 150;

export type FeedDocument = ListedDocument & { content: Uint8Array };

/** Stays the same while the address of the feed does. */
export const feedKeyOf = (url: string): string => hashOf(url).slice(0, 16);

/** One document of HTML for each entry; of entries with the same id, the first. */
export function documentsOf(url: string, feed: ReadFeed): FeedDocument[] {
  const documents = new Map<string, FeedDocument>();
  const folder = fileNameOf(feed.title === '' ? new URL(url).hostname : feed.title);
  for (const entry of feed.entries) {
    const ref = `${feedKeyOf(url)}/${idOf(entry)}`;
    if (!documents.has(ref)) {
      const content = Buffer.from(pageOf(entry));
      documents.set(ref, {
        ref,
        name: `${folder}/${fileNameOf(entry.title === '' ? idOf(entry) : entry.title)}.html`,
        version: hashOf(content),
        byteSize: content.byteLength,
        mediaType: 'text/html',
        url: addressOf(entry.link, url),
        content,
      });
    }
  }
  return [...documents.values()];
}

/** An entry without an id is known by what it says. */
function idOf({ id, title, html, link }: FeedEntry): string {
  const isUsable = id !== null && Buffer.byteLength(id) <= maxIdBytes && !/\p{Cc}/u.test(id);
  return isUsable ? id : hashOf(id ?? JSON.stringify([title, link, html]));
}

function pageOf({ title, date, html }: FeedEntry): string {
  const at = date === null ? Number.NaN : Date.parse(date);
  const day = Number.isNaN(at) ? '' : `<p><time>${new Date(at).toISOString().slice(0, 10)}</time></p>`;
  const heading = title === '' ? '' : `<h1>${escapeHtml(title)}</h1>`;
  return (
    `<!doctype html><html><head><meta charset="utf-8"><title>${escapeHtml(title)}</title></head>` +
    `<body><article>${heading}${day}${html}</article></body></html>`
  );
}

function fileNameOf(title: string): string {
  const line = title.replaceAll(/[\p{Cc}\s]+/gu, ' ').replaceAll('/', '\u2215');
  return line.slice(0, maxNameLength).toWellFormed().trim();
}

function addressOf(link: string | null, feed: string): string | null {
  const url = link === null ? null : URL.parse(link, feed);
  return url !== null && /^https?:$/.test(url.protocol) && url.href.length <= 2_000 ? url.href : null;
}

function hashOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
