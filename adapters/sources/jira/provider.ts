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
import { webEndpoint, withoutSlashes } from '../shared/web-url.ts';
import { jiraConnection } from './connection.ts';
import { isShown, toDocument } from './document.ts';
import { IssueReader } from './issue-reader.ts';
import { JiraClient, projectsAtOnce } from './jira-client.ts';
import { listingJql, singleJql } from './jql.ts';
import { endOf, readState, sinceOf, usable } from './listing-state.ts';
import { jiraScope, type JiraScope } from './scope.ts';
import { localTime } from './local-time.ts';
import { isIssueId, listedFields, type Issue } from './wire.ts';

const pageSize = 100;

export const jiraProvider = defineProvider<JiraScope>({
  slug: 'jira',
  title: 'Jira',
  description: 'Reads the issues of projects of Jira Cloud, with their comments.',
  beta: true,
  scope: jiraScope,
  credentialKinds: ['basic', 'bearer'],
  credentialRequired: true,
  connection: jiraConnection,
  detects: { changes: 'listing', deletions: 'listing', readers: false, push: false },
  endpoint: ({ base_url: base }) => webEndpoint(base),
  open: (scope, access) => new JiraSource(scope, access),
});

class JiraSource implements Source {
  readonly #scope: JiraScope;
  readonly #client: JiraClient;
  readonly #reader: IssueReader;
  #siteUrl: Promise<string | null> | null = null;
  /** Issues of the page that was listed last: they match the filter. */
  #listed = new Set<string>();

  constructor(scope: JiraScope, access: SourceAccess) {
    this.#scope = scope;
    this.#client = new JiraClient(scope.base_url, access);
    this.#reader = new IssueReader(scope, this.#client);
  }

  async check(signal: AbortSignal): Promise<void> {
    const { projects } = this.#scope;
    await this.#client.account(signal);
    for (let at = 0; at < projects.length; at += projectsAtOnce) {
      const some = projects.slice(at, at + projectsAtOnce);
      const seen = await this.#client.projects(some, signal);
      const missing = some.find((key) => !seen.includes(key));
      if (missing !== undefined) {
        throw new SourceFailure(
          'scope_invalid',
          `The project ${missing} does not exist, or cannot be seen with this credential.`,
        );
      }
    }
    await this.#client
      .search({ jql: listingJql(this.#scope, null), maxResults: 1 }, signal)
      .catch((error: unknown) => {
        throw error instanceof SourceFailure && error.code === 'scope_invalid'
          ? new SourceFailure('scope_invalid', 'Jira does not accept the filter of the scope.', {
              cause: error,
            })
          : error;
      });
  }

  async list({ cursor, checkpoint }: ListInput, signal: AbortSignal): Promise<SourcePage> {
    const place = placeOf(cursor);
    const known = place.at === null ? null : readState(place.at);
    const begin = known ?? (await this.#begin(checkpoint, signal));
    const jql = listingJql(this.#scope, begin.since);
    const { value, headers } = await laterPage(
      known !== null,
      this.#client.search({ jql, token: known?.token, maxResults: pageSize }, signal),
    );
    const began = known?.began ?? serviceTime(headers);
    const state = { began, whole: begin.whole, since: begin.since };
    const shown = value.issues.filter((issue) => isShown(issue, this.#scope));
    this.#listed = new Set(shown.map(({ id }) => id));
    const { take, ...end } = nextPlace(place, {
      count: shown.length,
      next: value.next === null ? null : JSON.stringify({ ...state, token: value.next }),
      max: this.#scope.max_documents,
    });
    const isComplete = end.next === null && end.truncated !== true;
    const site = shown.length === 0 ? null : await this.#site(signal);
    return {
      documents: shown.slice(0, take).map((issue) => toDocument(issue, this.#scope, site)),
      // Issues that were given a security level.
      gone: value.issues.filter((issue) => !shown.includes(issue)).map(({ id }) => id),
      checkpoint: isComplete ? endOf(state, this.#scope) : null,
      total: null,
      scope: state.since === null ? 'everything' : 'changes',
      ...end,
    };
  }

  async fetch(input: FetchInput, signal: AbortSignal): Promise<Fetched> {
    // What failed before is fetched without a listing: it may have left the filter meanwhile.
    const isIn =
      isIssueId(input.ref) && (this.#listed.has(input.ref) || (await this.#matches(input.ref, signal)));
    return isIn ? this.#reader.read(input, (issue) => this.#isWanted(issue), signal) : { kind: 'gone' };
  }

  prepare(refs: readonly string[], signal: AbortSignal): Promise<number> {
    return this.#reader.prepare(refs.filter(isIssueId), signal);
  }

  async exists(ref: string, signal: AbortSignal): Promise<boolean> {
    const found = isIssueId(ref) ? await this.#client.issue(ref, listedFields, signal) : null;
    if (found === null || !this.#isWanted(found)) {
      return false;
    }
    return this.#matches(ref, signal);
  }

  /** Whether the filter of the scope has an issue. */
  async #matches(ref: string, signal: AbortSignal): Promise<boolean> {
    return this.#scope.jql === '' || this.#client.matches(singleJql(this.#scope, ref), ref, signal);
  }

  async #begin(
    checkpoint: string | null,
    signal: AbortSignal,
  ): Promise<{ whole: string | null; since: string | null }> {
    const before = usable(checkpoint, this.#scope);
    if (before === null) {
      return { whole: null, since: null };
    }
    const { timeZone } = await this.#client.account(signal);
    return { whole: before.whole, since: localTime(sinceOf(before), timeZone ?? null) };
  }

  /** Without the filter, which only the service can apply. */
  #isWanted(issue: Issue): boolean {
    const { projects } = this.#scope;
    const isNamed = projects.length === 0 || projects.includes(issue.fields.project.key);
    return isNamed && isShown(issue, this.#scope);
  }

  #site(signal: AbortSignal): Promise<string | null> {
    const base = withoutSlashes(this.#scope.base_url);
    if (!new URL(base).pathname.startsWith('/ex/jira/')) {
      return Promise.resolve(base);
    }
    this.#siteUrl ??= this.#client.siteUrl(signal);
    // A failed request is not remembered.
    this.#siteUrl.catch(() => (this.#siteUrl = null));
    return this.#siteUrl;
  }
}
