import {
  SourceFailure,
  type FetchInput,
  type Fetched,
  type ListInput,
  type Source,
  type SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import { defineProvider, type SourceAccess } from '../provider.ts';
import { JsonApi } from '../shared/json-api.ts';
import { laterPage } from '../shared/later-page.ts';
import { nextPlace, placeOf } from '../shared/page-place.ts';
import { serviceTime } from '../shared/service-time.ts';
import { webEndpoint } from '../shared/web-url.ts';
import { githubConnection } from './connection.ts';
import { githubFailure } from './failure.ts';
import { IssueReader } from './issue-reader.ts';
import type { KindReader } from './kind-reader.ts';
import { beginState, readState, sinceIn, sinceOf } from './listing-state.ts';
import { githubScope, type GithubScope } from './scope.ts';

export const githubProvider = defineProvider<GithubScope>({
  slug: 'github',
  title: 'GitHub issues and pull requests',
  description: 'Reads the issues and pull requests of repositories of GitHub, with their comments.',
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
  readonly #issues: KindReader;

  constructor(scope: GithubScope, access: SourceAccess) {
    this.#scope = scope;
    const api = new JsonApi(access, {
      base: scope.api_url,
      headers: {
        accept: 'application/vnd.github+json',
        'x-github-api-version': '2022-11-28',
        'user-agent': 'platform',
      },
      failure: githubFailure,
    });
    this.#issues = new IssueReader(scope, api);
  }

  async check(signal: AbortSignal): Promise<void> {
    for (const name of this.#scope.repositories) {
      await this.#issues.check(name, signal);
    }
  }

  async list({ cursor, checkpoint }: ListInput, signal: AbortSignal): Promise<SourcePage> {
    const { repositories, relist_hours: hours, max_documents: max } = this.#scope;
    const place = placeOf(cursor);
    const state = place.at === null ? beginState(checkpoint, hours, repositories) : readState(place.at);
    const name = repositories[state.repository];
    if (name === undefined) {
      throw new SourceFailure('cursor_expired', 'The listing has to begin again.');
    }
    const kindPlace = { paging: state.paging, known: sinceIn(state, name) };
    const page = await laterPage(state.paging !== null, this.#issues.page(name, kindPlace, signal));
    state.began ||= serviceTime(page.headers);
    const { paging } = page;
    if (paging === null) {
      state.done.push([name, page.again ?? { since: sinceOf(state.began), etag: null }]);
    }
    const isLast = paging === null && state.repository + 1 === repositories.length;
    const following = { ...state, paging, repository: state.repository + (paging === null ? 1 : 0) };
    const { take, ...end } = nextPlace(place, {
      count: page.documents.length,
      next: isLast ? null : JSON.stringify(following),
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
    const place = this.#read(ref);
    return place === null
      ? { kind: 'gone' }
      : this.#issues.fetch(place.repository, place.number, input, signal);
  }

  async exists(ref: string, signal: AbortSignal): Promise<boolean> {
    const place = this.#read(ref);
    return place !== null && this.#issues.exists(place.repository, place.number, signal);
  }

  #read(ref: string): { repository: string; number: number } | null {
    const [repository = '', number = ''] = ref.split('#');
    const isNamed = this.#scope.repositories.includes(repository) && /^\d{1,15}$/.test(number);
    return isNamed ? { repository, number: Number(number) } : null;
  }
}
