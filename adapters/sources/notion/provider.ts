import {
  SourceFailure,
  type FetchInput,
  type Fetched,
  type ListInput,
  type Source,
  type SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import { defineProvider, type SourceAccess } from '../provider.ts';
import { contentWithin } from '../shared/content-within.ts';
import { TooLong } from '../shared/json-api.ts';
import { nextPlace, placeOf } from '../shared/page-place.ts';
import { Patience } from '../shared/patience.ts';
import { clockOf } from '../shared/service-time.ts';
import { webEndpoint } from '../shared/web-url.ts';
import { readVersionOf, toDocument, toMarkdown, versionOf } from './document.ts';
import { beginState, readState, toCheckpoint, type ListingState } from './listing-state.ts';
import { NotionClient } from './notion-client.ts';
import { isTrashed, PagesInScope } from './pages-in-scope.ts';
import { readBlocks } from './read-blocks.ts';
import { notionScope, type NotionScope } from './scope.ts';
import { searchPart } from './search-pages.ts';

export const notionProvider = defineProvider<NotionScope>({
  slug: 'notion',
  title: 'Notion',
  description: 'Reads the pages that are shared with an integration of Notion, and the pages of databases.',
  beta: true,
  scope: notionScope,
  credentialKinds: ['bearer'],
  credentialRequired: true,
  detects: { changes: 'listing', deletions: 'listing', readers: false, push: false },
  endpoint: ({ api_url: url }) => webEndpoint(url),
  open: (scope, access) => new NotionSource(scope, access),
});

class NotionSource implements Source {
  readonly #scope: NotionScope;
  readonly #client: NotionClient;
  readonly #pages: PagesInScope;

  constructor(scope: NotionScope, access: SourceAccess) {
    this.#scope = scope;
    this.#client = new NotionClient(scope, access);
    this.#pages = new PagesInScope(this.#client, scope);
  }

  async check(signal: AbortSignal): Promise<void> {
    await this.#client.user(signal);
    const patience = new Patience();
    for (const id of this.#scope.root_pages) {
      if (!(await this.#isRoot(id, patience, signal))) {
        const says = 'A root page does not exist, or is not shared with the integration.';
        throw new SourceFailure('scope_invalid', says);
      }
    }
  }

  async list({ cursor, checkpoint }: ListInput, signal: AbortSignal): Promise<SourcePage> {
    const place = placeOf(cursor);
    const state = place.at === null ? await this.#begin(checkpoint, signal) : readState(place.at);
    const patience = new Patience();
    const { results, paging, isCut } = await searchPart(this.#client, state, patience, signal);
    const { wanted, others } = await this.#pages.split(results, patience, signal);
    // A listing of changes deletes nothing else: what has left the scope is named here, too.
    const gone = others.filter((page) => state.mode === 'changes' || isTrashed(page));
    const following = followingOf(state, paging);
    const { take, ...end } = nextPlace(place, {
      count: wanted.length,
      next: following === null ? null : JSON.stringify(following),
      max: this.#scope.max_documents,
    });
    const isTruncated = isCut || end.truncated === true;
    return {
      documents: wanted.slice(0, take).map(toDocument),
      gone: gone.map(({ id }) => id),
      checkpoint: end.next === null && !isTruncated ? toCheckpoint(state) : null,
      total: null,
      scope: state.mode,
      ...end,
      ...(isTruncated && { truncated: true }),
    };
  }

  async fetch({ ref, version, maxBytes }: FetchInput, signal: AbortSignal): Promise<Fetched> {
    const patience = new Patience();
    const found = await this.#pages.find(ref, patience, signal);
    if (found === null) {
      return { kind: 'gone' };
    }
    const { page, readAtMs } = found;
    if (versionOf(page) === version) {
      return { kind: 'unchanged' };
    }
    try {
      const read = { maxLength: maxBytes, patience };
      const blocks = await readBlocks(this.#client, ref, read, signal);
      if (blocks === null) {
        return { kind: 'gone' };
      }
      const content = blocks === 'too_large' ? null : toMarkdown(page, blocks.text);
      const version = readVersionOf(page, readAtMs);
      return contentWithin(maxBytes, content, { mediaType: 'text/markdown', version });
    } catch (error) {
      if (error instanceof TooLong) {
        return { kind: 'skipped', code: 'too_large' };
      }
      throw error;
    }
  }

  async exists(ref: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#pages.find(ref, new Patience(), signal)) !== null;
  }

  async #begin(checkpoint: string | null, signal: AbortSignal): Promise<ListingState> {
    const answer = await this.#client.user(signal);
    const now = new Date(clockOf(answer.headers)).toISOString();
    return beginState(checkpoint, { user: answer.value.id, now, relistHours: this.#scope.relist_hours });
  }

  async #isRoot(id: string, patience: Patience, signal: AbortSignal): Promise<boolean> {
    for (const kind of ['pages', 'databases', 'data_sources'] as const) {
      const parent = await patience.ask(signal, () => this.#client.parentOf(kind, id, signal));
      if (parent !== 'absent') {
        return true;
      }
    }
    return false;
  }
}

/** Where the listing goes on; null: it has ended. */
function followingOf(state: ListingState, paging: ListingState['paging']): ListingState | null {
  if (paging !== null) {
    return { ...state, paging };
  }
  return state.part === 'trash' ? { ...state, part: 'pages', paging: null } : null;
}
