import { setImmediate as nextTurn } from 'node:timers/promises';
import { startWebServer, type WebServer } from './web-server.ts';

export interface RssServer extends WebServer {
  feedUrl: string;
}

const data = (text: string): string => `<![CDATA[${text.replaceAll(']]>', ']]]]><![CDATA[>')}]]>`;

/** A feed whose entries are the documents, newest first. It has an ETag; what is removed is gone from the feed alone. */
export async function startRssServer(): Promise<RssServer> {
  const web = await startWebServer();
  const entries = new Map<string, string>();
  const write = () => {
    const items = [...entries]
      .toReversed()
      .map(
        ([name, content]) =>
          `<item><title>${data(name)}</title><guid isPermaLink="false">${data(name)}</guid>` +
          `<link>/${encodeURIComponent(name)}</link><content:encoded>${data(content)}</content:encoded></item>`,
      );
    return web.put(
      'feed.xml',
      `<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>News</title><link>${web.origin}</link><description>d</description>${items.join('\n')}</channel></rss>`,
    );
  };
  let pending: Promise<void> | null = null;
  // What is put at the same time is published once: the feed is written as a whole.
  const publish = () =>
    (pending ??= nextTurn().then(() => {
      pending = null;
      return write();
    }));
  await publish();
  const put = (name: string, content: string | Uint8Array) => {
    entries.set(name, Buffer.from(content).toString());
    return publish();
  };
  const remove = (name: string) => {
    entries.delete(name);
    return publish();
  };
  return {
    ...web,
    slug: 'rss',
    feedUrl: web.address('feed.xml'),
    scopeConfig: { feed_urls: [web.address('feed.xml')] },
    put,
    remove,
    move: (from, to) => {
      const content = entries.get(from) ?? '';
      entries.delete(from);
      return put(to, content);
    },
  };
}
