import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import {
  SourceFailure,
  type FetchInput,
  type Fetched,
  type ListedDocument,
  type ListInput,
  type Source,
  type SourceGroup,
  type SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import { defineProvider, type SourceAccess } from '../provider.ts';
import { contentWithin } from '../shared/content-within.ts';
import { JsonApi, TooLong } from '../shared/json-api.ts';
import { laterPage } from '../shared/later-page.ts';
import { nextPlace, placeOf } from '../shared/page-place.ts';
import { webEndpoint, withoutSlashes } from '../shared/web-url.ts';
import { confluenceConnection } from './connection.ts';
import { People } from './people.ts';
import { Readers } from './readers.ts';
import { confluenceScope, type ConfluenceScope } from './scope.ts';
import { storageToHtml } from './storage-html.ts';
import { page as pageForm, pages, pageWithBody, spaces, type Page } from './wire.ts';

const pageSize = 100;
/** Pages whose restrictions are read at once. */
const atOnce = 5;

export const confluenceProvider = defineProvider<ConfluenceScope>({
  slug: 'confluence',
  title: 'Confluence Cloud',
  description: 'Reads the pages of spaces of Confluence Cloud, with who may read them.',
  beta: true,
  scope: confluenceScope,
  credentialKinds: ['basic', 'bearer'],
  credentialRequired: true,
  connection: confluenceConnection,
  detects: { changes: 'listing', deletions: 'listing', readers: true, push: false },
  endpoint: ({ base_url: base }) => webEndpoint(base),
  open: (scope, access) => new ConfluenceSource(scope, access),
});

class ConfluenceSource implements Source {
  readonly #scope: ConfluenceScope;
  readonly #base: string;
  readonly #api: JsonApi;
  readonly #people: People;
  readonly #readers: Readers;
  #spaceIds: readonly string[] | null = null;

  constructor(scope: ConfluenceScope, access: SourceAccess) {
    this.#scope = scope;
    this.#base = withoutSlashes(scope.base_url);
    this.#api = new JsonApi(access, { base: this.#base });
    this.#people = new People(this.#api);
    this.#readers = new Readers(this.#api, this.#people);
  }

  async check(signal: AbortSignal): Promise<void> {
    await this.#spaces(signal);
    await this.#api.get('/api/v2/pages?limit=1', pages, { signal });
  }

  async list({ cursor }: ListInput, signal: AbortSignal): Promise<SourcePage> {
    const place = placeOf(cursor);
    const ids = await this.#spaces(signal);
    const query = new URLSearchParams({ limit: String(pageSize), status: 'current', sort: 'id' });
    if (ids.length > 0) {
      query.set('space-id', ids.join(','));
    }
    if (place.at !== null) {
      query.set('cursor', place.at);
    }
    const found = await laterPage(
      place.at !== null,
      this.#api.get(`/api/v2/pages?${query.toString()}`, pages, { signal }),
    );
    const max = this.#scope.max_documents;
    const { take, ...end } = nextPlace(place, {
      count: found.results.length,
      next: found.next,
      max,
    });
    const documents: ListedDocument[] = [];
    for (let at = 0; at < take; at += atOnce) {
      const some = found.results.slice(at, Math.min(at + atOnce, take));
      documents.push(
        ...(await Promise.all(some.map((page) => this.#document(page, found.base ?? this.#base, signal)))),
      );
    }
    return { documents, gone: [], checkpoint: null, total: null, scope: 'everything', ...end };
  }

  async fetch({ ref, maxBytes }: FetchInput, signal: AbortSignal): Promise<Fetched> {
    try {
      const path = `/api/v2/pages/${encodeURIComponent(ref)}?body-format=storage`;
      const asking = { signal, maxBytes: 2 * maxBytes + 65_536 };
      const found = await this.#api.find(path, pageWithBody, asking);
      if (found === null) {
        await this.#confirmCredential(signal);
        return { kind: 'gone' };
      }
      if (found.status !== 'current') {
        return { kind: 'gone' };
      }
      const content = Buffer.from(storageToHtml(cleanText(found.title), found.body?.storage?.value ?? ''));
      const version = String(found.version.number);
      return contentWithin(maxBytes, content, { mediaType: 'text/html', version });
    } catch (error) {
      if (error instanceof TooLong) {
        return { kind: 'skipped', code: 'too_large' };
      }
      throw error;
    }
  }

  async exists(ref: string, signal: AbortSignal): Promise<boolean> {
    const found = await this.#api.find(`/api/v2/pages/${encodeURIComponent(ref)}`, pageForm, { signal });
    if (found === null) {
      await this.#confirmCredential(signal);
    }
    const ids = await this.#spaces(signal);
    return found?.status === 'current' && (ids.length === 0 || ids.includes(found.spaceId));
  }

  groups(
    cursor: string | null,
    signal: AbortSignal,
  ): Promise<{ groups: SourceGroup[]; next: string | null }> {
    return this.#people.groups(cursor, signal);
  }

  /** @param site what addresses of pages begin with: that of the interface is another one for tokens with scopes */
  async #document(page: Page, site: string, signal: AbortSignal): Promise<ListedDocument> {
    return {
      ref: page.id,
      name: cleanText(page.title.slice(0, 500)),
      version: String(page.version.number),
      byteSize: null,
      mediaType: 'text/html',
      url: page.webui === undefined ? null : site + page.webui,
      ...(this.#scope.readers && { readers: await this.#readers.of(page, signal) }),
    };
  }

  /**
   * Pages are absent for a credential that is no longer accepted, too, where the site answers it as it answers anonymous
   * people, who see no space of most sites.
   */
  async #confirmCredential(signal: AbortSignal): Promise<void> {
    const { results } = await this.#api.get('/api/v2/spaces?limit=1', spaces, { signal });
    if (results.length === 0) {
      throw new SourceFailure('auth_failed', 'Confluence shows no space to this credential.');
    }
  }

  /** The ids of the spaces; empty: all. */
  async #spaces(signal: AbortSignal): Promise<readonly string[]> {
    const { spaces: keys } = this.#scope;
    if (this.#spaceIds === null && keys.length > 0) {
      const query = new URLSearchParams({ keys: keys.join(','), limit: '250' });
      const { results } = await this.#api.get(`/api/v2/spaces?${query.toString()}`, spaces, { signal });
      if (results.length < new Set(keys).size) {
        throw new SourceFailure('scope_invalid', 'A space of the scope does not exist, or cannot be seen.');
      }
      this.#spaceIds = results.map(({ id }) => id);
    }
    return this.#spaceIds ?? [];
  }
}
