import { SourceFailure, type ListedDocument, type SourcePage } from '#domain/knowledge/connectors/source.ts';
import { discardBody } from '../shared/bounded-body.ts';
import { statusFailure } from '../shared/http-failure.ts';
import { LoopTurns } from '#domain/foundation/kernel/loop-turns.ts';
import { scanSitemap, type Sitemap } from './scan-sitemap.ts';
import { nameOf, type Site } from './site.ts';
import type { SitemapRef, SitemapState } from './sitemap-state.ts';
import type { WebClient } from './web-client.ts';

const documentsPerPage = 100;
/** An index of an index is against the protocol, and harmless. */
const maxLevel = 2;
/** Small and empty sitemaps: a page of the listing ends soon all the same. */
const sitemapsPerPage = 20;
/** Of a page of the listing, as for addresses that the scope or robots.txt leaves out. */
const maxMs = 20_000;

export interface SitemapListing {
  client: WebClient;
  site: Site;
  state: SitemapState;
  maxPages: number;
  /** The pages of the sitemap that was read last, sorted, and how many of them were looked at. */
  loaded: { address: string; pages: readonly string[]; at: number } | null;
}

/** After a failure the state is not to be used: its cursor from before is. */
export async function listSitemapPage(listing: SitemapListing, signal: AbortSignal): Promise<SourcePage> {
  const { state } = listing;
  const documents: ListedDocument[] = [];
  const end = Date.now() + maxMs;
  const isFull = () => documents.length >= documentsPerPage || Date.now() > end;
  for (let read = 0; read < sitemapsPerPage && !isFull(); read += 1) {
    if (state.current === null) {
      const ref = state.pending.shift();
      if (ref === undefined) break;
      state.current = { ...ref, after: '' };
    }
    await takePages(listing, state.current, { documents, isFull, signal });
  }
  const next = state.isEnd ? null : state.encode();
  const { truncated } = state;
  return { documents, gone: [], next, checkpoint: null, total: null, scope: 'everything', truncated };
}

/** Whether a page was listed, or will be before the listing is cut off. */
export function isInListing({ state, loaded, maxPages }: SitemapListing, address: string): boolean {
  if (state.seen.has(address) || loaded === null) {
    return state.seen.has(address);
  }
  const place = loaded.pages.indexOf(address, loaded.at);
  return place !== -1 && place - loaded.at < maxPages - state.pages;
}

async function takePages(
  listing: SitemapListing,
  current: SitemapRef & { after: string },
  { documents, isFull, signal }: { documents: ListedDocument[]; isFull: () => boolean; signal: AbortSignal },
): Promise<void> {
  const { client, site, state } = listing;
  if (listing.loaded?.address !== current.address) {
    const pages = await loadPages(listing, current, signal);
    const first = pages.findIndex((address) => address > current.after);
    listing.loaded = { address: current.address, pages, at: first === -1 ? pages.length : first };
  }
  const { loaded } = listing;
  const turns = new LoopTurns();
  for (const first = loaded.at; loaded.at < loaded.pages.length; loaded.at += 1) {
    // However long the sitemap took to read, its page of the listing goes on by one address.
    if (isFull() && (documents.length > 0 || loaded.at > first)) return;
    await turns.pass(signal);
    const address = loaded.pages[loaded.at] ?? '';
    current.after = address;
    const robots = await client.robots(new URL(address).origin, signal);
    if (!site.accepts(address) || !robots.allows(address) || state.seen.has(address)) continue;
    if (state.pages >= listing.maxPages) {
      state.truncated = true;
      state.pending.length = 0;
      break;
    }
    state.seen.add(address);
    state.pages += 1;
    documents.push({
      ref: address,
      name: nameOf(address),
      version: null,
      byteSize: null,
      mediaType: null,
      url: address,
    });
  }
  state.current = null;
}

/** Of a sitemap, sorted; an index has none, and its sitemaps are added to those that wait. */
async function loadPages(
  { client, site, state }: SitemapListing,
  { address, level }: SitemapRef,
  signal: AbortSignal,
): Promise<string[]> {
  const sitemap = await loadSitemap(client, address, signal).catch((error: unknown) => {
    const isOfSitemap =
      error instanceof SourceFailure &&
      (error.code === 'scope_invalid' || error.code === 'auth_failed' || error.code === 'source_invalid');
    // Of a sitemap that an index names: its pages are unknown and must not count as deleted.
    if (level === 0 || !isOfSitemap) throw error;
    state.truncated = true;
    return null;
  });
  state.truncated ||= sitemap?.truncated === true;
  const locations: string[] = [];
  const turns = new LoopTurns();
  for (const location of sitemap?.locations ?? []) {
    const resolved = site.resolve(location, address);
    if (resolved !== null) locations.push(resolved);
    await turns.pass(signal);
  }
  if (sitemap?.isIndex !== true) {
    return [...new Set(locations)].sort();
  }
  if (level >= maxLevel) {
    state.truncated = true;
  } else {
    locations.forEach((location) => state.add({ address: location, level: level + 1 }));
  }
  return [];
}

export async function loadSitemap(
  client: WebClient,
  address: string,
  signal: AbortSignal,
): Promise<Sitemap | null> {
  const answer = await client.follow(address, signal);
  if (answer.kind === 'disallowed') {
    throw new SourceFailure('scope_invalid', 'The robots.txt of the site forbids its sitemap.');
  }
  if (answer.kind === 'redirect') {
    throw new SourceFailure('scope_invalid', 'A sitemap redirects to another site.');
  }
  const { response } = answer;
  if (!response.ok || response.body === null) {
    await discardBody(response);
    throw response.ok ? noSitemap() : statusFailure(response);
  }
  const sitemap = await scanSitemap(response.body as ReadableStream<Uint8Array>);
  if (sitemap === null) {
    throw noSitemap();
  }
  return sitemap;
}

const noSitemap = () => new SourceFailure('source_invalid', 'What should be a sitemap is none.');

/** A start address is a sitemap itself, or a site whose robots.txt names some, or one with a sitemap at the usual place. */
export async function sitemapsOf(client: WebClient, site: Site, signal: AbortSignal): Promise<string[]> {
  const found = new Set<string>();
  for (const start of site.startAddresses) {
    const { origin, pathname } = new URL(start);
    if (/\.(?:xml|gz)$/i.test(pathname)) {
      found.add(start);
      continue;
    }
    const { sitemaps } = await client.robots(origin, signal);
    const named = sitemaps.map((href) => site.resolve(href, origin)).filter((address) => address !== null);
    for (const address of named.length > 0 ? named : [`${origin}/sitemap.xml`]) found.add(address);
  }
  return [...found];
}
