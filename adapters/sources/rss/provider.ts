import { z } from 'zod';
import { defineProvider } from '../provider.ts';
import { webAddress, webEndpoint } from '../shared/web-url.ts';
import { RssSource } from './rss-source.ts';

const scope = z.strictObject({
  feed_urls: z.array(webAddress).min(1).max(50).describe('Addresses of feeds: RSS, Atom, RDF or JSON Feed.'),
});

export const rssProvider = defineProvider<z.infer<typeof scope>>({
  slug: 'rss',
  title: 'Feeds',
  description: 'Entries of news feeds, kept also when their feed no longer has them.',
  beta: false,
  scope,
  credentialKinds: [],
  credentialRequired: false,
  detects: { changes: 'listing', deletions: 'never', readers: false, push: false },
  endpoint: ({ feed_urls: [first = ''] }) => ({ ...webEndpoint(first), origin: null }),
  open: ({ feed_urls }, access) => new RssSource([...new Set(feed_urls)], access),
});
