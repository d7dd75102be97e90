import type { FetchInput, Fetched } from '#domain/knowledge/connectors/source.ts';
import { contentWithin } from '../shared/content-within.ts';
import type { JsonApi, Answer } from '../shared/json-api.ts';
import { toDocument, toMarkdown, versionOf } from './document.ts';
import type { KindPage, KindPlace, KindReader } from './kind-reader.ts';
import { RemarkReader } from './remark-reader.ts';
import type { GithubScope } from './scope.ts';
import { issue as issueForm, issues, nextIn, type Issue } from './wire.ts';

/** An issue has up to 65,536 characters: a page of more might exceed the limit of an answer. */
const pageSize = 30;

/** Issues and pull requests: the service lists them together. */
export class IssueReader implements KindReader {
  readonly #scope: GithubScope;
  readonly #api: JsonApi;
  readonly #remarks: RemarkReader;

  constructor(scope: GithubScope, api: JsonApi) {
    this.#scope = scope;
    this.#api = api;
    this.#remarks = new RemarkReader(scope, api);
  }

  async check(repository: string, signal: AbortSignal): Promise<void> {
    await this.#api.get(`/repos/${repository}/issues?per_page=1&state=all`, issues, { signal });
    await this.#remarks.check(repository, signal);
  }

  async page(repository: string, place: KindPlace, signal: AbortSignal): Promise<KindPage> {
    const { paging, known } = place;
    const answer = await this.#list(repository, place, signal);
    const listed = answer?.value ?? [];
    const isQuiet = known !== null && paging === null && listed.length === 0;
    return {
      documents: listed
        .filter((each) => this.#isWanted(each))
        .map((each) => {
          const content = this.#remarks.needs(each) ? null : toMarkdown(each, []);
          return toDocument(repository, each, this.#scope, content);
        }),
      paging: nextIn(answer?.headers.get('link') ?? null),
      headers: answer?.headers,
      ...(isQuiet && {
        again: { since: known.since, etag: answer === null ? known.etag : tagOf(answer) },
      }),
    };
  }

  async fetch(
    repository: string,
    number: number,
    { version, maxBytes }: Pick<FetchInput, 'version' | 'maxBytes'>,
    signal: AbortSignal,
  ): Promise<Fetched> {
    const found = await this.#issue(repository, number, signal);
    if (found === null) {
      return { kind: 'gone' };
    }
    const current = versionOf(found, this.#scope);
    if (current === version) {
      return { kind: 'unchanged' };
    }
    const remarks = await this.#remarks.read(repository, found, maxBytes, signal);
    const content = remarks === null ? null : toMarkdown(found, remarks);
    return contentWithin(maxBytes, content, { mediaType: 'text/markdown', version: current });
  }

  async exists(repository: string, number: number, signal: AbortSignal): Promise<boolean> {
    const found = await this.#issue(repository, number, signal);
    return found !== null && this.#isWanted(found);
  }

  #isWanted(issue: Issue): boolean {
    return this.#scope.kinds.includes(issue.pull_request == null ? 'issues' : 'pull_requests');
  }

  /** Null: nothing has changed. Sorted by creation, so that a change meanwhile moves nothing to another page. */
  async #list(
    repository: string,
    { paging, known }: KindPlace,
    signal: AbortSignal,
  ): Promise<Answer<Issue[]> | null> {
    const query = new URLSearchParams(paging ?? '');
    query.set('state', 'all');
    query.set('sort', 'created');
    query.set('direction', 'asc');
    query.set('per_page', String(pageSize));
    if (known !== null) {
      query.set('since', known.since);
    }
    const tag = paging === null ? (known?.etag ?? null) : null;
    const path = `/repos/${repository}/issues?${query.toString()}`;
    const headers = tag === null ? {} : { 'if-none-match': tag };
    return this.#api.seek(path, issues, { signal, headers, absent: [304] });
  }

  /** Null also for an issue that was moved to another repository. */
  async #issue(repository: string, number: number, signal: AbortSignal): Promise<Issue | null> {
    const found = await this.#api.find(`/repos/${repository}/issues/${number}`, issueForm, { signal });
    return found?.number === number ? found : null;
  }
}

function tagOf(answer: Answer<unknown>): string | null {
  const tag = answer.headers.get('etag');
  return tag !== null && tag.length <= 200 ? tag : null;
}
