import {
  SourceFailure,
  type Fetched,
  type FetchInput,
  type ListInput,
  type Source,
  type SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import type { PathPatterns } from '../shared/path-filter.ts';
import { discardBody, readBody } from '../shared/bounded-body.ts';
import { asSourceFailures, statusFailure } from '../shared/http-failure.ts';
import { crawlPage } from './crawl-page.ts';
import { Frontier } from './frontier.ts';
import {
  isInListing,
  listSitemapPage,
  loadSitemap,
  sitemapsOf,
  type SitemapListing,
} from './list-sitemaps.ts';
import { conditionOf, mediaTypeOf, versionOf } from '../shared/http-version.ts';
import { movedPage } from './moved-page.ts';
import { readPage } from './read-page.ts';
import { Site } from './site.ts';
import { SitemapState } from './sitemap-state.ts';
import { WebClient } from './web-client.ts';

export interface WebScope extends PathPatterns {
  start_urls: readonly string[];
  mode: 'sitemap' | 'crawl';
  max_pages: number;
  max_depth: number;
}

const checkedStarts = 3;
/** Formats without text, known before they are read. */
const withoutText = /^(?:image|video|audio|font)\//;

export class WebSource implements Source {
  readonly #scope: WebScope;
  readonly #site: Site;
  readonly #client: WebClient;
  /** The listing as the last page left it, by the cursor of the next one. */
  #kept: { cursor: string; state: Frontier | SitemapListing } | null = null;
  /** The listing whose pages are fetched. */
  #listed: Frontier | SitemapListing | null = null;

  constructor(scope: WebScope, fetch: typeof globalThis.fetch) {
    this.#scope = scope;
    this.#site = new Site(scope.start_urls, scope);
    this.#client = new WebClient(fetch, this.#site);
  }

  check(signal: AbortSignal): Promise<void> {
    return asSourceFailures(signal, async () => {
      if (this.#scope.mode === 'sitemap') {
        const sitemaps = await sitemapsOf(this.#client, this.#site, signal);
        for (const address of sitemaps.slice(0, checkedStarts)) {
          await loadSitemap(this.#client, address, signal);
        }
        return;
      }
      for (const address of this.#site.startAddresses.slice(0, checkedStarts)) {
        const answer = await this.#client.follow(address, signal);
        if (answer.kind !== 'answer') {
          throw new SourceFailure(
            'scope_invalid',
            'A start address redirects to another site, or robots.txt forbids it.',
          );
        }
        await discardBody(answer.response);
        if (!answer.response.ok) {
          throw statusFailure(answer.response);
        }
      }
    });
  }

  list({ cursor }: ListInput, signal: AbortSignal): Promise<SourcePage> {
    return asSourceFailures(signal, async () => {
      const kept = cursor !== null && this.#kept?.cursor === cursor ? this.#kept.state : null;
      // After a failure the same cursor is read again.
      this.#kept = null;
      const state = kept ?? (await this.#begin(cursor, signal));
      this.#listed = state;
      const { max_depth: maxDepth } = this.#scope;
      const crawl = { client: this.#client, site: this.#site, maxDepth };
      const page =
        state instanceof Frontier
          ? await crawlPage({ ...crawl, frontier: state }, signal)
          : await listSitemapPage(state, signal);
      this.#kept = page.next === null ? null : { cursor: page.next, state };
      return page;
    });
  }

  fetch({ ref, version, maxBytes }: FetchInput, signal: AbortSignal): Promise<Fetched> {
    return asSourceFailures(signal, async () => {
      const address = this.#addressOf(ref);
      if (address === null) {
        return { kind: 'gone' };
      }
      const answer = await this.#client.follow(address, signal, conditionOf(version));
      if (answer.kind !== 'answer') {
        return { kind: 'skipped', code: 'forbidden_by_source' };
      }
      const { response } = answer;
      const isListed = (each: string) => this.#isListed(each);
      const moved = movedPage(address, answer, { site: this.#site, isListed });
      if (moved !== null) {
        await discardBody(response);
        return moved;
      }
      const mediaType = mediaTypeOf(response);
      if (response.status !== 200 || withoutText.test(mediaType ?? '')) {
        await discardBody(response);
        return response.ok && response.status === 200
          ? { kind: 'skipped', code: 'unsupported_format' }
          : fetchedWithout(response);
      }
      const content = await readBody(response, maxBytes);
      return content === null
        ? { kind: 'skipped', code: 'too_large' }
        : { kind: 'content', content, mediaType, version: versionOf(response) };
    });
  }

  /** A page that robots.txt forbids, that was moved, or whose canonical address is another page, is no document. */
  exists(ref: string, signal: AbortSignal): Promise<boolean> {
    return asSourceFailures(signal, async () => {
      const address = this.#addressOf(ref);
      const answer = address === null ? null : await this.#client.follow(address, signal);
      if (answer?.kind !== 'answer') {
        return answer?.kind === 'redirect' && !answer.permanent;
      }
      const { response, moved, detoured, address: at } = answer;
      if (response.ok && detoured && at !== address) {
        // As for `fetch`: what answers is often a page for signing in.
        await discardBody(response);
        return true;
      }
      if (response.ok && !moved && this.#scope.mode === 'crawl') {
        const { canonical } = await readPage(response, answer.address, this.#site);
        return canonical === null || !(await this.#hasPage(canonical, answer.address, signal));
      }
      await discardBody(response);
      return !moved && (response.ok || fetchedWithout(response).kind !== 'gone');
    });
  }

  /** Whether another page than this one answers at an address, as a crawl would list it. */
  async #hasPage(address: string, than: string, signal: AbortSignal): Promise<boolean> {
    const answer = await this.#client.follow(address, signal).catch((error: unknown) => {
      if (error instanceof SourceFailure && error.code === 'source_invalid') return null;
      throw error;
    });
    if (answer?.kind !== 'answer') {
      return false;
    }
    const { response } = answer;
    await discardBody(response);
    if (response.status === 429 || response.status >= 500) {
      throw statusFailure(response);
    }
    return response.status === 200 && answer.address !== than && this.#site.accepts(answer.address);
  }

  #isListed(address: string): boolean {
    const listed = this.#listed;
    return listed instanceof Frontier
      ? listed.isListed(address)
      : listed !== null && isInListing(listed, address);
  }

  async #begin(cursor: string | null, signal: AbortSignal): Promise<Frontier | SitemapListing> {
    const { mode, max_pages: maxPages } = this.#scope;
    if (mode === 'crawl') {
      const frontier = new Frontier(maxPages, cursor);
      for (const address of cursor === null ? this.#site.startAddresses : []) {
        frontier.add({ address, depth: 0, hops: 0, isStart: true, standsAlone: false, namedBy: [] });
      }
      return frontier;
    }
    const state = new SitemapState(cursor);
    for (const address of cursor === null ? await sitemapsOf(this.#client, this.#site, signal) : []) {
      state.add({ address, level: 0 });
    }
    return { client: this.#client, site: this.#site, state, maxPages, loaded: null };
  }

  /** Null: not of this scope. */
  #addressOf(ref: string): string | null {
    const address = this.#site.resolve(ref, ref);
    return address !== null && this.#site.accepts(address) ? address : null;
  }
}

function fetchedWithout(response: Response): Fetched {
  const { status } = response;
  if (status === 304) return { kind: 'unchanged' };
  if (status === 404 || status === 410) return { kind: 'gone' };
  if (response.ok) return { kind: 'skipped', code: 'not_a_document' };
  if (status === 451) return { kind: 'skipped', code: 'forbidden_by_source' };
  const failure = statusFailure(response);
  switch (failure.code) {
    case 'auth_failed':
      return { kind: 'skipped', code: 'forbidden_by_source' };
    case 'scope_invalid':
      return { kind: 'skipped', code: 'not_a_document' };
    default:
      throw failure;
  }
}
