import { QueryRefused, readQuery, select, type Shown } from './graphql-query.ts';

interface FakeReply {
  body: string;
  author?: string | null;
  isAnswer?: boolean;
}

export interface FakeComment extends FakeReply {
  replies?: FakeReply[];
}

export interface FakeDiscussion {
  repository: string;
  number: number;
  title: string;
  body: string;
  category: string;
  labels: string[];
  closed: boolean;
  comments: FakeComment[];
  updated: string;
  isDeleted: boolean;
}

/** Answers of the GraphQL interface of GitHub about discussions, in their published form. */
export class GithubDiscussions {
  readonly all: FakeDiscussion[] = [];
  /** Repositories in which discussions are switched off. */
  readonly disabled = new Set<string>();
  readonly #knows: (repository: string) => boolean;

  constructor(knows: (repository: string) => boolean) {
    this.#knows = knows;
  }

  answer({ query, variables }: { query: string; variables: Record<string, unknown> }): object {
    const errors: object[] = [];
    const root = { typeName: 'Query', repository: this.#repository, node: this.#node };
    try {
      const data = select(root, readQuery(query, variables), errors);
      return { data, ...(errors.length > 0 && { errors }) };
    } catch (error) {
      if (!(error instanceof QueryRefused)) throw error;
      return { errors: [error.error] };
    }
  }

  readonly #repository = ({ owner, name }: Record<string, string>): Shown => {
    const repository = `${owner}/${name}`;
    if (!this.#knows(repository)) {
      const message = `Could not resolve to a Repository with the name '${repository}'.`;
      throw new QueryRefused({ type: 'NOT_FOUND', message });
    }
    const found = this.all.filter((each) => each.repository === repository && !each.isDeleted);
    const hasDiscussionsEnabled = !this.disabled.has(repository);
    return {
      typeName: 'Repository',
      hasDiscussionsEnabled,
      discussions: connection(({ orderBy }) => {
        const { field, direction } = orderBy as { field: string; direction: string };
        const sorted = found.toSorted(field === 'UPDATED_AT' ? byUpdate : (a, b) => a.number - b.number);
        const ordered = direction === 'DESC' ? sorted.toReversed() : sorted;
        return hasDiscussionsEnabled ? ordered.map(shownDiscussion) : [];
      }),
      discussion: ({ number }: { number: number }) => {
        const one = found.find((each) => each.number === number);
        if (one === undefined) {
          const message = `Could not resolve to a Discussion with the number of ${number}.`;
          throw new QueryRefused({ type: 'NOT_FOUND', message });
        }
        return shownDiscussion(one);
      },
    };
  };

  readonly #node = ({ id }: Record<string, string>): Shown => {
    const [, number, at] = /^DC_(\d+)_(\d+)$/.exec(id ?? '') ?? [];
    const found = this.all.find((each) => each.number === Number(number))?.comments[Number(at)];
    if (found === undefined) {
      const message = `Could not resolve to a node with the global id of '${id}'`;
      throw new QueryRefused({ type: 'NOT_FOUND', message });
    }
    return shownComment(found, id!);
  };
}

const byUpdate = (a: FakeDiscussion, b: FakeDiscussion) =>
  Date.parse(a.updated) - Date.parse(b.updated) || a.number - b.number;
const actor = (login: string | null) => login && { typeName: 'User', login };
const named = (name: string) => ({ typeName: 'Named', name });

function shownDiscussion(discussion: FakeDiscussion): Shown {
  const { repository, number, title, body, category, labels, closed, comments, updated } = discussion;
  return {
    typeName: 'Discussion',
    number,
    title,
    body,
    url: `https://github.example/${repository}/discussions/${number}`,
    closed,
    isAnswered: comments.some(({ isAnswer, replies }) => isAnswer || replies?.some((each) => each.isAnswer)),
    createdAt: '2025-01-01T00:00:00Z',
    updatedAt: updated,
    author: actor('octocat'),
    category: named(category),
    labels: connection(() => labels.map(named)),
    comments: connection(() => comments.map((each, at) => shownComment(each, `DC_${number}_${at}`))),
  };
}

function shownComment(
  { body, author = 'hubot', isAnswer = false, replies = [] }: FakeComment,
  id: string,
): Shown {
  return {
    typeName: 'DiscussionComment',
    id,
    body,
    isAnswer,
    createdAt: '2025-02-01T00:00:00Z',
    author: actor(author),
    replies: connection(() => replies.map((each, at) => shownComment(each, `${id}_${at}`))),
  };
}

/** A list that is paged by cursors, and is refused without a number of nodes. */
function connection(listed: (args: Record<string, unknown>) => Shown[]) {
  return (args: Record<string, unknown>): Shown => {
    const { first, after } = args as { first?: number; after?: string | null };
    if (first === undefined || first < 1 || first > 100) {
      const type = first === undefined ? 'MISSING_PAGINATION_BOUNDARIES' : 'EXCESSIVE_PAGINATION';
      const message = `You must provide a \`first\` value of 1 to 100 to properly paginate the connection.`;
      throw new QueryRefused({ type, message });
    }
    const [, given = '0'] = /^cursor:(\d+)$/.exec(Buffer.from(after ?? '', 'base64').toString()) ?? [];
    if (after != null && given === '0') {
      const message = `\`${after}\` does not appear to be a valid cursor.`;
      throw new QueryRefused({ type: 'INVALID_CURSOR_ARGUMENTS', message });
    }
    const all = listed(args);
    const end = Number(given) + first;
    const nodes = all.slice(Number(given), end);
    return {
      typeName: 'Connection',
      totalCount: all.length,
      nodes,
      pageInfo: {
        typeName: 'PageInfo',
        hasNextPage: end < all.length,
        endCursor: nodes.length === 0 ? null : Buffer.from(`cursor:${end}`).toString('base64'),
      },
    };
  };
}
