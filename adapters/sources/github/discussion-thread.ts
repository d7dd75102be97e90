import { TooLong } from '../shared/json-api.ts';
import type { Contribution } from './discussion-document.ts';
import { commentsQuery, repliesQuery, variablesOf } from './discussion-queries.ts';
import {
  commentPage,
  enabled,
  moreReplies,
  nextOf,
  shownIn,
  type DiscussionComment,
  type Reply,
} from './discussion-wire.ts';
import type { GraphqlApi } from './graphql-api.ts';

/** Comments of a page, each with so many replies: more of them might exceed the limit of an answer. */
const commentsAtOnce = 20;
const repliesAtOnce = 50;
/** Of one discussion. */
const maxRequests = 100;
const maxContributions = 10_000;

interface ThreadPlace {
  repository: string;
  number: number;
  maxBytes: number;
}

/** The comments of a discussion, each with its replies below it. Null: they are longer than `maxBytes`. */
export async function readThread(
  api: GraphqlApi,
  place: ThreadPlace,
  signal: AbortSignal,
): Promise<Contribution[] | null> {
  try {
    return await new ThreadReader(api, place, signal).read();
  } catch (error) {
    if (error instanceof TooLong) {
      return null;
    }
    throw error;
  }
}

class ThreadReader {
  readonly #api: GraphqlApi;
  readonly #place: ThreadPlace;
  readonly #signal: AbortSignal;
  readonly #found: Contribution[] = [];
  #room: number;
  #requests = 0;

  constructor(api: GraphqlApi, place: ThreadPlace, signal: AbortSignal) {
    this.#api = api;
    this.#place = place;
    this.#signal = signal;
    this.#room = place.maxBytes;
  }

  /** @throws TooLong */
  async read(): Promise<Contribution[]> {
    for (let after: string | null | undefined; after !== null && this.#hasRoom();) {
      const { comments, next } = await this.#comments(after);
      for (const { replies, id, ...comment } of comments) {
        this.#add(comment, false);
        shownIn(replies).forEach((reply) => this.#add(reply, true));
        await this.#moreReplies(id, nextOf(replies));
      }
      after = next;
    }
    return this.#found;
  }

  async #comments(
    after: string | undefined,
  ): Promise<{ comments: DiscussionComment[]; next: string | null }> {
    const { repository, number } = this.#place;
    const variables = { ...variablesOf(repository), number, first: commentsAtOnce, after };
    const query = { query: commentsQuery, variables, data: commentPage };
    const answer = await this.#api.seek(query, { signal: this.#signal, absent: 'repository.discussion' });
    this.#requests += 1;
    const page = answer === null ? null : enabled(answer.value.repository).discussion?.comments;
    return page == null ? { comments: [], next: null } : { comments: shownIn(page), next: nextOf(page) };
  }

  /** Those that did not come with their comment. */
  async #moreReplies(id: string, from: string | null): Promise<void> {
    for (let after = from; after !== null && this.#hasRoom();) {
      const variables = { id, first: repliesAtOnce, after };
      const query = { query: repliesQuery, variables, data: moreReplies };
      const answer = await this.#api.seek(query, { signal: this.#signal, absent: 'node' });
      this.#requests += 1;
      const page = answer?.value.node?.replies;
      (page == null ? [] : shownIn(page)).forEach((reply) => this.#add(reply, true));
      after = page == null ? null : nextOf(page);
    }
  }

  #hasRoom(): boolean {
    return this.#requests < maxRequests && this.#found.length < maxContributions;
  }

  #add({ body, createdAt, isAnswer, author }: Reply, isReply: boolean): void {
    this.#room -= body.length;
    if (this.#room < 0) {
      throw new TooLong();
    }
    this.#found.push({ body, createdAt, isAnswer, author, isReply });
  }
}
