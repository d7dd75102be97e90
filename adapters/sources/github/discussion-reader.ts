import type { FetchInput, Fetched } from '#domain/knowledge/connectors/source.ts';
import { contentWithin } from '../shared/content-within.ts';
import type { Answer } from '../shared/json-api.ts';
import { discussionDocument, discussionMarkdown, discussionVersion } from './discussion-document.ts';
import { listQuery, oneQuery, variablesOf } from './discussion-queries.ts';
import { readThread } from './discussion-thread.ts';
import {
  discussionPage,
  enabled,
  nextOf,
  oneDiscussion,
  shownIn,
  type Connection,
  type Discussion,
} from './discussion-wire.ts';
import type { GraphqlApi } from './graphql-api.ts';
import type { KindPage, KindPlace, KindReader } from './kind-reader.ts';
import type { GithubScope } from './scope.ts';

/** A discussion has up to 65,536 characters: a page of more might exceed the limit of an answer. */
const pageSize = 30;
/** That of `Int`. */
const maxNumber = 2_147_483_647;

export class DiscussionReader implements KindReader {
  readonly #scope: GithubScope;
  readonly #api: GraphqlApi;

  constructor(scope: GithubScope, api: GraphqlApi) {
    this.#scope = scope;
    this.#api = api;
  }

  async check(repository: string, signal: AbortSignal): Promise<void> {
    await this.#list(repository, { paging: null, known: null }, 1, signal);
  }

  async page(repository: string, place: KindPlace, signal: AbortSignal): Promise<KindPage> {
    const { headers, value: list } = await this.#list(repository, place, pageSize, signal);
    const since = Date.parse(place.known?.since ?? '');
    const found = shownIn(list);
    const wanted = found.filter(({ updatedAt }) => !(Date.parse(updatedAt) < since));
    return {
      documents: wanted.map((each) => {
        const content = this.#needsComments(each) ? null : discussionMarkdown(each, []);
        return discussionDocument(repository, each, this.#scope, content);
      }),
      // Changes come first: those that follow are older.
      paging: wanted.length < found.length ? null : nextOf(list),
      headers,
    };
  }

  async fetch(
    repository: string,
    number: number,
    { version, maxBytes }: Pick<FetchInput, 'version' | 'maxBytes'>,
    signal: AbortSignal,
  ): Promise<Fetched> {
    const found = await this.#one(repository, number, signal);
    if (found === null) {
      return { kind: 'gone' };
    }
    const current = discussionVersion(found, this.#scope);
    if (current === version) {
      return { kind: 'unchanged' };
    }
    const said = this.#needsComments(found)
      ? await readThread(this.#api, { repository, number, maxBytes }, signal)
      : [];
    const content = said === null ? null : discussionMarkdown(found, said);
    return contentWithin(maxBytes, content, { mediaType: 'text/markdown', version: current });
  }

  async exists(repository: string, number: number, signal: AbortSignal): Promise<boolean> {
    return (await this.#one(repository, number, signal)) !== null;
  }

  #needsComments({ comments }: Discussion): boolean {
    return this.#scope.comments && comments.totalCount > 0;
  }

  /**
   * Everything by creation, so that a change meanwhile moves nothing to another page. Changes, for which the service has
   * no filter, from the last one back: what changes meanwhile is listed by the next run.
   */
  async #list(
    repository: string,
    { paging, known }: KindPlace,
    first: number,
    signal: AbortSignal,
  ): Promise<Answer<Connection<Discussion>>> {
    const order =
      known === null ? { field: 'CREATED_AT', direction: 'ASC' } : { field: 'UPDATED_AT', direction: 'DESC' };
    const variables = { ...variablesOf(repository), first, after: paging, order };
    const { value, headers } = await this.#api.ask(
      { query: listQuery, variables, data: discussionPage },
      signal,
    );
    return { value: enabled(value.repository).discussions, headers };
  }

  async #one(repository: string, number: number, signal: AbortSignal): Promise<Discussion | null> {
    if (number > maxNumber) {
      return null;
    }
    const variables = { ...variablesOf(repository), number };
    const query = { query: oneQuery, variables, data: oneDiscussion };
    const answer = await this.#api.seek(query, { signal, absent: 'repository.discussion' });
    const found = answer === null ? null : enabled(answer.value.repository).discussion;
    return found?.number === number ? found : null;
  }
}
