import {
  SourceFailure,
  type FetchInput,
  type Fetched,
  type ListInput,
  type Source,
  type SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import { defineProvider, type SourceAccess } from '../provider.ts';
import { laterPage } from '../shared/later-page.ts';
import { nextPlace, placeOf } from '../shared/page-place.ts';
import { serviceTime } from '../shared/service-time.ts';
import { webEndpoint } from '../shared/web-url.ts';
import { githubConnection } from './connection.ts';
import { beginState, readState, sinceIn, sinceOf } from './listing-state.ts';
import { findListed, listsOf, type ScopeList } from './scope-lists.ts';
import { githubScope, type GithubScope } from './scope.ts';

export const githubProvider = defineProvider<GithubScope>({
  slug: 'github',
  title: 'GitHub issues, pull requests and discussions',
  description: 'Reads issues, pull requests and discussions of repositories of GitHub, with their comments.',
  beta: true,
  scope: githubScope,
  credentialKinds: ['bearer'],
  credentialRequired: false,
  connection: githubConnection,
  detects: { changes: 'listing', deletions: 'listing', readers: false, push: false },
  endpoint: ({ api_url: url }) => webEndpoint(url),
  open: (scope, access) => new GithubSource(scope, access),
});

class GithubSource implements Source {
  readonly #scope: GithubScope;
  readonly #lists: readonly ScopeList[];

  constructor(scope: GithubScope, access: SourceAccess) {
    this.#scope = scope;
    this.#lists = listsOf(scope, access);
  }

  async check(signal: AbortSignal): Promise<void> {
    for (const { reader, repository } of this.#lists) {
      await reader.check(repository, signal);
    }
  }

  async list({ cursor, checkpoint }: ListInput, signal: AbortSignal): Promise<SourcePage> {
    const { relist_hours: hours, max_documents: max } = this.#scope;
    const place = placeOf(cursor);
    const keys = this.#lists.map(({ key }) => key);
    const state = place.at === null ? beginState(checkpoint, hours, keys) : readState(place.at);
    const list = this.#lists[state.list];
    if (list === undefined) {
      throw new SourceFailure('cursor_expired', 'The listing has to begin again.');
    }
    const kindPlace = { paging: state.paging, known: sinceIn(state, list.key) };
    const asked = list.reader.page(list.repository, kindPlace, signal);
    const page = await laterPage(state.paging !== null, asked);
    // A list that is known to be the same says nothing of the service's clock.
    if (page.headers !== undefined) {
      state.began ||= serviceTime(page.headers);
    }
    const { paging } = page;
    if (paging === null) {
      state.done.push([list.key, page.again ?? { since: sinceOf(state.began), etag: null }]);
    }
    const following = { ...state, paging, list: state.list + (paging === null ? 1 : 0) };
    const { take, ...end } = nextPlace(place, {
      count: page.documents.length,
      next: following.list === this.#lists.length ? null : JSON.stringify(following),
      max,
    });
    const isComplete = end.next === null && end.truncated !== true;
    const whole = state.mode === 'everything' ? state.began : (state.before?.whole ?? state.began);
    return {
      documents: page.documents.slice(0, take),
      gone: [],
      checkpoint: isComplete ? JSON.stringify({ whole, of: state.done }) : null,
      total: null,
      scope: state.mode,
      ...end,
    };
  }

  async fetch({ ref, ...input }: FetchInput, signal: AbortSignal): Promise<Fetched> {
    const found = findListed(this.#lists, ref);
    return found === null
      ? { kind: 'gone' }
      : found.list.reader.fetch(found.list.repository, found.number, input, signal);
  }

  async exists(ref: string, signal: AbortSignal): Promise<boolean> {
    const found = findListed(this.#lists, ref);
    return found !== null && found.list.reader.exists(found.list.repository, found.number, signal);
  }
}
