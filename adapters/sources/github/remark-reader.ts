import type { z } from 'zod';
import type { JsonApi } from '../shared/json-api.ts';
import type { GithubScope } from './scope.ts';
import { comments, nextIn, reviewComments, reviews, type Issue } from './wire.ts';

/** Something that was said below an issue or a pull request. */
export interface Remark {
  /** Such as `Comment by octocat`. */
  title: string;
  /** As the service writes it, in UTC: texts in the order of time. */
  at: string;
  body: string;
  /** What follows the date. */
  note: string;
}

type Author = { login: string } | null | undefined;

const pageSize = 30;
const maxPages = 100;
const maxPathLength = 400;
/** The others have no meaning of their own for a reader. */
const reviewStates = new Map([
  ['APPROVED', ', approved'],
  ['CHANGES_REQUESTED', ', changes requested'],
  ['DISMISSED', ', dismissed'],
]);

/** Reads what was said below an issue or a pull request, with the lists of comments, reviews and comments of reviews. */
export class RemarkReader {
  readonly #scope: GithubScope;
  readonly #api: JsonApi;

  constructor(scope: GithubScope, api: JsonApi) {
    this.#scope = scope;
    this.#api = api;
  }

  async check(repository: string, signal: AbortSignal): Promise<void> {
    if (this.#scope.reviews && this.#scope.kinds.includes('pull_requests')) {
      await this.#api.get(`/repos/${repository}/pulls/comments?per_page=1`, reviewComments, { signal });
    }
  }

  /** Whether there may be any. The list of pull requests does not say which of them have reviews. */
  needs(issue: Issue): boolean {
    return this.#hasComments(issue) || this.#mayHaveReviews(issue);
  }

  /** In the order of time. Null: they are longer than `maxBytes`. */
  async read(
    repository: string,
    issue: Issue,
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<Remark[] | null> {
    const room = { left: maxBytes };
    const found: Remark[] = [];
    const addAll = async <T>(path: string, list: z.ZodType<T[]>, toRemarks: (each: T) => Remark[]) => {
      let paging: string | null = '';
      for (let pages = 0; paging !== null && room.left >= 0 && pages < maxPages; pages += 1) {
        const address = `/repos/${repository}/${path}?per_page=${pageSize}&${paging}`;
        const answer = await this.#api.seek(address, list, { signal, absent: [404, 410] });
        const remarks = (answer?.value ?? []).flatMap(toRemarks);
        found.push(...remarks);
        room.left -= remarks.reduce(
          (sum, { title, body, note }) => sum + title.length + body.length + note.length,
          0,
        );
        paging = nextIn(answer?.headers.get('link') ?? null);
      }
    };
    if (this.#hasComments(issue)) {
      await addAll(`issues/${issue.number}/comments`, comments, ({ user, body, created_at: at }) => [
        { title: `Comment by ${nameOf(user)}`, at, body: body ?? '', note: '' },
      ]);
    }
    if (this.#mayHaveReviews(issue)) {
      await addAll(`pulls/${issue.number}/reviews`, reviews, ({ user, body, state, submitted_at: at }) =>
        // Without a time it is a draft, which only its author sees.
        at == null || !body
          ? []
          : [{ title: `Review by ${nameOf(user)}`, at, body, note: reviewStates.get(state) ?? '' }],
      );
      await addAll(`pulls/${issue.number}/comments`, reviewComments, (comment) => [
        {
          title: `Review comment by ${nameOf(comment.user)}`,
          at: comment.created_at,
          body: comment.body ?? '',
          note: `, ${placeOf(comment.path, comment.line ?? comment.original_line)}`,
        },
      ]);
    }
    return room.left < 0 ? null : found.sort((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)));
  }

  #hasComments(issue: Issue): boolean {
    return this.#scope.comments && issue.comments > 0;
  }

  #mayHaveReviews(issue: Issue): boolean {
    return this.#scope.reviews && issue.pull_request != null;
  }
}

function nameOf(user: Author): string {
  return user?.login ?? 'ghost';
}

/** Where in the changes: `src/app.ts:12`. */
function placeOf(path: string, line: number | null | undefined): string {
  const name = path.slice(0, maxPathLength).replaceAll(/\s/g, ' ');
  return line == null ? name : `${name}:${line}`;
}
