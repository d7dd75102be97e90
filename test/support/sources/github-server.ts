import { createHash } from 'node:crypto';
import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import { GithubDiscussions, type FakeDiscussion } from './github-discussions.ts';
import { startHttpFake } from './http-fake.ts';
import type { FakeSource } from './source-contract.ts';

/** Pending without a time. */
interface FakeReview {
  body: string | null;
  state: 'APPROVED' | 'CHANGES_REQUESTED' | 'COMMENTED' | 'DISMISSED' | 'PENDING';
  submitted?: string;
}

interface FakeReviewComment {
  path: string;
  body: string;
  created: string;
  /** Null: later changes have removed it. */
  line: number | null;
}

interface FakeIssue {
  repository: string;
  number: number;
  title: string;
  body: string;
  state: 'open' | 'closed';
  labels: string[];
  comments: string[];
  reviews: FakeReview[];
  reviewComments: FakeReviewComment[];
  updated: string;
  isPull: boolean;
  isDeleted: boolean;
}

export interface GithubServer extends FakeSource {
  issues: FakeIssue[];
  add(title: string, body: string, more?: Partial<FakeIssue>): FakeIssue;
  discussions: GithubDiscussions;
  discuss(title: string, body: string, more?: Partial<FakeDiscussion>): FakeDiscussion;
  /** As if the issue or discussion had last been changed so long ago. */
  age(of: { updated: string }, ms: number): void;
  /** What was asked for: path with query, and the status of the answer. */
  asked: [path: string, status: number][];
  /** Requests left until the limit; null: no limit. */
  budget(requests: number | null, resetsInS?: number): void;
}

/**
 * The parts of the interfaces of GitHub that the provider uses, in their documented form.
 * @param kind of what `put` makes
 */
export async function startGithub(kind: 'issues' | 'discussions' = 'issues'): Promise<GithubServer> {
  const issues: FakeIssue[] = [];
  const isRepository = (name: string): boolean =>
    name === 'acme/app' || [...issues, ...discussions.all].some(({ repository }) => repository === name);
  const discussions = new GithubDiscussions(isRepository);
  const asked: [string, number][] = [];
  let token = 'first-token';
  let renewals = 0;
  let left: number | null = null;
  let resetS = 0;
  const now = () => `${new Date().toISOString().slice(0, 19)}Z`;
  const message = (text: string, status: number, headers: Record<string, string> = {}) =>
    Response.json({ message: text, documentation_url: 'https://docs.github.com/rest' }, { status, headers });

  const shown = (issue: FakeIssue) => ({
    id: issue.number * 1_000,
    number: issue.number,
    title: issue.title,
    body: issue.body === '' ? null : issue.body,
    state: issue.state,
    html_url: `https://github.example/${issue.repository}/${issue.isPull ? 'pull' : 'issues'}/${issue.number}`,
    repository_url: `${fake.origin}/repos/${issue.repository}`,
    user: { login: 'octocat', id: 1 },
    labels: issue.labels.map((name) => ({ id: 1, name, color: 'ededed' })),
    comments: issue.comments.length,
    created_at: '2025-01-01T00:00:00Z',
    updated_at: issue.updated,
    ...(issue.isPull && { pull_request: { url: 'https://api.github.example/pulls/1' } }),
  });

  const paged = (url: URL, all: readonly unknown[], request: Request): Response => {
    const size = Number(url.searchParams.get('per_page') ?? 30);
    const page = Number(url.searchParams.get('page') ?? 1);
    if (!Number.isInteger(page) || page < 1) return message('Validation Failed', 422);
    const body = JSON.stringify(all.slice((page - 1) * size, page * size));
    const etag = `W/"${createHash('sha256').update(body).digest('hex')}"`;
    if (request.headers.get('if-none-match') === etag)
      return new Response(null, { status: 304, headers: { etag } });
    const next = new URL(url);
    next.searchParams.set('page', String(page + 1));
    const link = `<${url.origin}${url.pathname}?page=1>; rel="first", <${next.href}>; rel="next"`;
    return new Response(body, {
      headers: {
        'content-type': 'application/json; charset=utf-8',
        etag,
        ...(all.length > page * size && { link }),
      },
    });
  };

  const shownComment = ({ path, line, body, created }: FakeReviewComment, at: number) => ({
    id: at,
    pull_request_review_id: at,
    diff_hunk: '@@ -1 +1 @@',
    path,
    line,
    original_line: 7,
    user: { login: 'hubot' },
    body,
    created_at: created,
    updated_at: created,
  });
  const pullPart = (
    url: URL,
    within: readonly FakeIssue[],
    { number, part, request }: { number: string | undefined; part: string | undefined; request: Request },
  ): Response => {
    const pulls = within.filter(({ isPull, isDeleted }) => isPull && !isDeleted);
    if (number === 'comments') {
      const all = pulls.flatMap(({ reviewComments }) => reviewComments);
      return paged(url, all.map(shownComment), request);
    }
    const found = pulls.find((each) => each.number === Number(number));
    if (found === undefined || part === undefined) return message('Not Found', 404);
    if (part === 'comments') return paged(url, found.reviewComments.map(shownComment), request);
    const shownReviews = found.reviews.map(({ body, state, submitted }, at) => ({
      id: at,
      user: { login: 'reviewer' },
      body: body ?? '',
      state,
      ...(submitted !== undefined && { submitted_at: submitted }),
    }));
    return paged(url, shownReviews, request);
  };

  /** A spent limit is an error with status 200. */
  const graphql = async (request: Request): Promise<Response> => {
    const isSpent = left !== null && left <= 0;
    if (left !== null && !isSpent) left -= 1;
    const headers = {
      'x-ratelimit-limit': '5000',
      'x-ratelimit-remaining': String(left ?? 4_999),
      'x-ratelimit-used': '1',
      'x-ratelimit-reset': String(resetS),
      'x-ratelimit-resource': 'graphql',
    };
    const limited = { errors: [{ type: 'RATE_LIMITED', message: 'API rate limit exceeded for user ID 1.' }] };
    const asked = (await request.json()) as { query: string; variables: Record<string, unknown> };
    return Response.json(isSpent ? limited : discussions.answer(asked), { headers });
  };

  const answer = (request: Request): Promise<Response> | Response => {
    const url = new URL(request.url);
    if (!request.headers.has('user-agent')) return message('Request forbidden by administrative rules', 403);
    if (request.headers.get('authorization') !== `Bearer ${token}`) return message('Bad credentials', 401);
    if (/^(?:\/api)?\/graphql$/.test(url.pathname)) {
      return request.method === 'POST' ? graphql(request) : message('Not Found', 404);
    }
    if (left !== null) {
      const rate = { 'x-ratelimit-limit': '5000', 'x-ratelimit-reset': String(resetS) };
      if (left <= 0)
        return message('API rate limit exceeded', 403, { ...rate, 'x-ratelimit-remaining': '0' });
      left -= 1;
    }
    const [, repository = '', list, number, part] =
      /^\/repos\/([^/]+\/[^/]+)\/(issues|pulls)(?:\/(\d+|comments)(?:\/(comments|reviews))?)?$/.exec(
        url.pathname,
      ) ?? [];
    const within = issues.filter((each) => each.repository === repository);
    if (!isRepository(repository)) return message('Not Found', 404);
    if (list === 'pulls') return pullPart(url, within, { number, part, request });
    if (number === undefined) {
      const since = url.searchParams.get('since');
      const listed = within.filter(
        ({ isDeleted, updated }) => !isDeleted && (since === null || updated >= since),
      );
      return paged(url, listed.map(shown), request);
    }
    const found = within.find((each) => each.number === Number(number));
    if (found === undefined) return message('Not Found', 404);
    if (found.isDeleted) return message('This issue was deleted', 410);
    if (part === undefined) return Response.json(shown(found));
    const comments = found.comments.map((body, at) => ({
      id: at,
      body,
      user: at % 2 === 0 ? { login: 'hubot' } : null,
      created_at: '2025-02-01T00:00:00Z',
    }));
    return paged(url, comments, request);
  };
  const fake = await startHttpFake(async (request) => {
    const made = await answer(request);
    const { pathname, search } = new URL(request.url);
    asked.push([pathname + search, made.status]);
    return made;
  });
  const value = (): CredentialValue => ({ kind: 'bearer', token });
  const current = (name: string): FakeIssue | FakeDiscussion | undefined =>
    (kind === 'issues' ? issues : discussions.all).find(
      ({ title, isDeleted }) => title === name && !isDeleted,
    );
  /** Issues, pull requests and discussions of a repository have numbers in common. */
  const nextNumber = () => issues.length + discussions.all.length + 1;
  const discuss = (title: string, body: string, more: Partial<FakeDiscussion> = {}): FakeDiscussion => {
    const made: FakeDiscussion = {
      repository: 'acme/app',
      number: nextNumber(),
      title,
      body,
      category: 'Q&A',
      labels: [],
      closed: false,
      comments: [],
      updated: now(),
      isDeleted: false,
      ...more,
    };
    discussions.all.push(made);
    return made;
  };
  const add = (title: string, body: string, more: Partial<FakeIssue> = {}): FakeIssue => {
    const made: FakeIssue = {
      repository: 'acme/app',
      number: nextNumber(),
      title,
      body,
      state: 'open',
      labels: [],
      comments: [],
      reviews: [],
      reviewComments: [],
      updated: now(),
      isPull: false,
      isDeleted: false,
      ...more,
    };
    issues.push(made);
    return made;
  };
  return {
    ...fake,
    slug: 'github',
    scopeConfig: {
      api_url: fake.origin,
      repositories: ['acme/app'],
      relist_hours: 0,
      ...(kind === 'discussions' && { kinds: [kind] }),
    },
    credential: { origin: fake.origin, value: value() },
    allowedOrigins: [fake.origin],
    roots: {},
    issues,
    asked,
    add,
    discussions,
    discuss,
    age: (of, ms) => {
      of.updated = `${new Date(Date.now() - ms).toISOString().slice(0, 19)}Z`;
    },
    budget: (requests, resetsInS = 0) => {
      left = requests;
      resetS = Math.ceil(Date.now() / 1_000) + resetsInS;
    },
    put: (name, content) => {
      const body = Buffer.from(content).toString();
      const found = current(name);
      if (found === undefined) (kind === 'issues' ? add : discuss)(name, body);
      else Object.assign(found, { body, updated: now() });
      return Promise.resolve();
    },
    move: (from, to) => {
      const found = current(from);
      if (found !== undefined) Object.assign(found, { title: to, updated: now() });
      return Promise.resolve();
    },
    remove: (name) => {
      const found = current(name);
      if (found !== undefined) found.isDeleted = true;
      return Promise.resolve();
    },
    renewCredential: () => {
      token = `token-${(renewals += 1)}`;
      return Promise.resolve(value());
    },
    close: () => fake.stop(),
  };
}
