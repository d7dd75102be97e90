import { z } from 'zod';
import { pathFilterFields } from '../shared/path-filter.ts';
import { webAddress, webEndpoint } from '../shared/web-url.ts';
import { defineProvider } from '../provider.ts';
import { WebSource } from './web-source.ts';

const scope = z.strictObject({
  start_urls: z
    .array(webAddress)
    .min(1)
    .max(50)
    .describe('Where reading begins. Pages on other hosts than those of these addresses are not read.'),
  mode: z
    .enum(['sitemap', 'crawl'])
    .default('crawl')
    .describe('`sitemap` takes the pages that the sitemaps name, `crawl` follows the links of pages.'),
  ...pathFilterFields(),
  max_pages: z.int().min(1).max(50_000).default(1_000).describe('Pages that are asked for at most.'),
  max_depth: z.int().min(0).max(50).default(10).describe('Links from a start address, when crawling.'),
});

export const webProvider = defineProvider<z.infer<typeof scope>>({
  slug: 'web',
  title: 'Website',
  description: 'Pages of a website, found by its sitemaps or by their links.',
  beta: false,
  scope,
  credentialKinds: [],
  credentialRequired: false,
  detects: { changes: 'request', deletions: 'listing', readers: false, push: false },
  endpoint: ({ start_urls: [first = ''] }) => ({ ...webEndpoint(first), origin: null }),
  open: (parsed, { fetch }) => new WebSource(parsed, fetch),
});
