import {
  SourceFailure,
  type FetchInput,
  type Fetched,
  type ListInput,
  type Source,
  type SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import { defineProvider, type SourceAccess } from '../provider.ts';
import { JsonApi, type Answer } from '../shared/json-api.ts';
import { laterPage } from '../shared/later-page.ts';
import { nextPlace, placeOf } from '../shared/page-place.ts';
import { serviceTime } from '../shared/service-time.ts';
import { webEndpoint } from '../shared/web-url.ts';
import { githubConnection } from './connection.ts';
import { toDocument, toMarkdown, versionOf } from './document.ts';
import { githubFailure } from './failure.ts';
import { beginState, readState, sinceIn, sinceOf, type ListingState } from './listing-state.ts';
import { RemarkReader } from './remark-reader.ts';
import { githubScope, type GithubScope } from './scope.ts';
import { issue as issueForm, issues, nextIn, type Issue } from './wire.ts';

/** An issue has up to 65,536 characters: a page of more might exceed the limit of an answer. */
const pageSize = 30;

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
  readonly #api: JsonApi;
  readonly #remarks: RemarkReader;

  constructor(scope: GithubScope, access: SourceAccess) {
    this.#scope = scope;
    this.#api = new JsonApi(access, {
      base: scope.api_url,
      headers: {
        accept: 'application/vnd.github+json',
        'x-github-api-version': '2022-11-28',
        'user-agent': 'platform',
      },
      failure: githubFailure,
    });
    this.#remarks = new RemarkReader(scope, this.#api);
  }

  async check(signal: AbortSignal): Promise<void> {
    for (const name of this.#scope.repositories) {
      await this.#api.get(`/repos/${name}/issues?per_page=1&state=all`, issues, { signal });
      await this.#remarks.check(name, signal);
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
    const known = sinceIn(state, name);
    const answer = await this.#page(name, state, signal);
    state.began ||= serviceTime(answer?.headers);
    const found = (answer?.value ?? []).filter((each) => this.#isWanted(each));
    const paging = nextIn(answer?.headers.get('link') ?? null);
    if (paging === null) {
      const isQuiet = known !== null && state.paging === null && (answer?.value.length ?? 0) === 0;
      state.done.push([
        name,
        isQuiet
          ? { since: known.since, etag: answer === null ? known.etag : tagOf(answer) }
          : { since: sinceOf(state.began), etag: null },
      ]);
    }
    const isLast = paging === null && state.repository + 1 === repositories.length;
    const following = { ...state, paging, repository: state.repository + (paging === null ? 1 : 0) };
    const next = isLast ? null : JSON.stringify(following);
    const { take, ...end } = nextPlace(place, { count: found.length, next, max });
    const isComplete = end.next === null && end.truncated !== true;
    const whole = state.mode === 'everything' ? state.began : (state.before?.whole ?? state.began);
    return {
      documents: found
        .slice(0, take)
        .map((each) =>
          toDocument(name, each, this.#scope, this.#remarks.needs(each) ? null : toMarkdown(each, [])),
        ),
      gone: [],
      checkpoint: isComplete ? JSON.stringify({ whole, of: state.done }) : null,
      total: null,
      scope: state.mode,
      ...end,
    };
  }

  async fetch({ ref, version, maxBytes }: FetchInput, signal: AbortSignal): Promise<Fetched> {
    const found = await this.#issue(ref, signal);
    if (found === null) {
      return { kind: 'gone' };
    }
    const current = versionOf(found, this.#scope);
    if (current === version) {
      return { kind: 'unchanged' };
    }
    const [repository = ''] = ref.split('#');
    const remarks = await this.#remarks.read(repository, found, maxBytes, signal);
    const content = remarks === null ? null : toMarkdown(found, remarks);
    return content === null || content.byteLength > maxBytes
      ? { kind: 'skipped', code: 'too_large' }
      : { kind: 'content', content, mediaType: 'text/markdown', version: current };
  }

  async exists(ref: string, signal: AbortSignal): Promise<boolean> {
    const found = await this.#issue(ref, signal);
    return found !== null && this.#isWanted(found);
  }

  #isWanted(issue: Issue): boolean {
    return this.#scope.kinds.includes(issue.pull_request == null ? 'issues' : 'pull_requests');
  }

  /** Null: nothing has changed. Sorted by creation, so that a change meanwhile moves nothing to another page. */
  async #page(name: string, state: ListingState, signal: AbortSignal): Promise<Answer<Issue[]> | null> {
    const query = new URLSearchParams(state.paging ?? '');
    query.set('state', 'all');
    query.set('sort', 'created');
    query.set('direction', 'asc');
    query.set('per_page', String(pageSize));
    const known = sinceIn(state, name);
    if (known !== null) {
      query.set('since', known.since);
    }
    const tag = state.paging === null ? (known?.etag ?? null) : null;
    const path = `/repos/${name}/issues?${query.toString()}`;
    const headers = tag === null ? {} : { 'if-none-match': tag };
    return laterPage(state.paging !== null, this.#api.seek(path, issues, { signal, headers, absent: [304] }));
  }

  /** Null also for an issue that was moved to another repository. */
  async #issue(ref: string, signal: AbortSignal): Promise<Issue | null> {
    const [name = '', number = ''] = ref.split('#');
    if (!this.#scope.repositories.includes(name) || !/^\d{1,15}$/.test(number)) {
      return null;
    }
    const found = await this.#api.find(`/repos/${name}/issues/${number}`, issueForm, { signal });
    return found?.number === Number(number) ? found : null;
  }
}

function tagOf(answer: Answer<unknown>): string | null {
  const tag = answer.headers.get('etag');
  return tag !== null && tag.length <= 200 ? tag : null;
}
