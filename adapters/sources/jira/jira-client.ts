import type { z } from 'zod';
import type { SourceAccess } from '../provider.ts';
import { JsonApi, type Answer, type Asking } from '../shared/json-api.ts';
import { withoutSlashes } from '../shared/web-url.ts';
import { isAnonymous, jiraFailure, refusedCredential } from './failure.ts';
import * as wire from './wire.ts';

export const projectsAtOnce = 50;
export const issuesAtOnce = 100;
const commentsAtOnce = 100;

/** Requests to one site. A response that ignores the credential is `auth_failed`. */
export class JiraClient {
  readonly #api: JsonApi;

  constructor(base: string, access: SourceAccess) {
    this.#api = new JsonApi(access, { base: `${withoutSlashes(base)}/rest/api/3`, failure: jiraFailure });
  }

  /** That of the credential. The service answers this request to nobody else. */
  async account(signal: AbortSignal): Promise<z.output<typeof wire.account>> {
    return (await this.#ask('/myself', wire.account, { signal })).value;
  }

  /** Those of up to 50 keys that the credential can see. */
  async projects(keys: readonly string[], signal: AbortSignal): Promise<string[]> {
    const query = new URLSearchParams({ maxResults: String(projectsAtOnce) });
    for (const key of keys) {
      query.append('keys', key);
    }
    const { value } = await this.#ask(`/project/search?${query.toString()}`, wire.projects, { signal });
    return value.values.map(({ key }) => key);
  }

  /** @param token of a later page */
  search(
    { jql, token, maxResults }: { jql: string; token?: string | undefined; maxResults: number },
    signal: AbortSignal,
  ): Promise<Answer<z.output<typeof wire.found>>> {
    const body = {
      jql,
      maxResults,
      fields: wire.listedFields,
      ...(token !== undefined && { nextPageToken: token }),
    };
    return this.#ask('/search/jql', wire.found, { signal, body });
  }

  /** Whether a query finds an issue, asked of its current state and not of the index. */
  async matches(jql: string, id: string, signal: AbortSignal): Promise<boolean> {
    const body = { jql, maxResults: 1, fields: ['id'], reconcileIssues: [Number(id)] };
    const { value } = await this.#ask('/search/jql', wire.foundIds, { signal, body });
    return value.issues.some((each) => each.id === id);
  }

  /** Null: it is not there, or is not shown to this credential, which was confirmed to be one. @throws TooLong */
  async issue(id: string, fields: readonly string[], signal: AbortSignal): Promise<wire.WholeIssue | null> {
    const path = `/issue/${id}?fields=${fields.join(',')}`;
    const found = await this.#find(path, wire.issue, signal);
    return found?.id === id ? found : null;
  }

  /** Those of up to 100 ids that are there. @throws TooLong */
  async issues(
    ids: readonly string[],
    fields: readonly string[],
    signal: AbortSignal,
  ): Promise<wire.WholeIssue[]> {
    const body = { issueIdsOrKeys: ids, fields };
    return (await this.#ask('/issue/bulkfetch', wire.bulk, { signal, body })).value.issues;
  }

  /** A page of them, in the order in which they were written. Null: the issue is gone. @throws TooLong */
  comments(id: string, startAt: number, signal: AbortSignal): Promise<wire.Comments | null> {
    const path = `/issue/${id}/comment?orderBy=created&maxResults=${commentsAtOnce}&startAt=${startAt}`;
    return this.#find(path, wire.comments, signal);
  }

  /** Where people open the site, which an address with a cloud id does not show; null: it is not shown either. */
  async siteUrl(signal: AbortSignal): Promise<string | null> {
    const asking = { signal, absent: [401, 403, 404] };
    const answer = await this.#api.seek('/serverInfo', wire.server, asking);
    const url = URL.parse(answer?.value.baseUrl ?? '');
    return url !== null && /^https?:$/.test(url.protocol) ? withoutSlashes(url.origin + url.pathname) : null;
  }

  async #ask<T>(path: string, schema: z.ZodType<T>, asking: Asking): Promise<Answer<T>> {
    const answer = await this.#api.ask(path, schema, asking);
    if (isAnonymous(answer.headers)) {
      throw refusedCredential();
    }
    return answer;
  }

  /** A credential that is refused sees nothing, and deletes nothing. */
  async #find<T>(path: string, schema: z.ZodType<T>, signal: AbortSignal): Promise<T | null> {
    const answer = await this.#api.seek(path, schema, { signal, absent: [404, 410] });
    if (answer === null) {
      await this.account(signal);
      return null;
    }
    if (isAnonymous(answer.headers)) {
      throw refusedCredential();
    }
    return answer.value;
  }
}
