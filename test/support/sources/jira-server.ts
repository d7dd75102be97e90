import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import { startHttpFake } from './http-fake.ts';
import { BadQuery, parseJql } from './jira-query.ts';
import { richTextOf } from './jira-rich-text.ts';
import type { FakeSource } from './source-contract.ts';

export interface FakeComment {
  body: string;
  author?: string | null;
  visibility?: object;
  jsdPublic?: boolean;
}

export interface FakeIssue {
  id: string;
  project: string;
  number: number;
  summary: string;
  description: object | null;
  status: string;
  labels: string[];
  assignee: string | null;
  security: object | null;
  comments: FakeComment[];
  /** Milliseconds. */
  created: number;
  updated: number;
  isDeleted: boolean;
}

export interface JiraServer extends FakeSource {
  issues: FakeIssue[];
  projects: string[];
  add(summary: string, text: string, more?: Partial<FakeIssue>): FakeIssue;
  /** Changes an issue now. */
  change(issue: FakeIssue, more: Partial<FakeIssue>): void;
  /** The zone of the account; null: it is not shown. */
  timeZone: string | null;
  /** The time that responses name; null: the right one. */
  date: string | null;
  /** The zone in which times of queries are read; null: that of the account. */
  readsTimesIn: string | null;
  /** The search goes on with its index as of now, or with the issues as they are. */
  freezeIndex(isFrozen: boolean): void;
  /** Comments that come with an issue; of more, the newest. */
  inlineComments: number;
  /** A refused credential gets what anonymous people may see, which is nothing, in place of 401. */
  answersAnonymous: boolean;
  /** Responses of 400 to tokens of pages that were given until now. */
  expire(): void;
  /** What was asked for: method, path without the beginning, and the status of the response. */
  asked: [path: string, status: number][];
  /** Queries of searches. */
  queries: string[];
}

const json = (value: unknown, status = 200, headers: Record<string, string> = {}) =>
  Response.json(value, { status, headers });
const failure = (status: number, message: string) => json({ errorMessages: [message], errors: {} }, status);
const searchMembers = ['jql', 'nextPageToken', 'maxResults', 'fields', 'reconcileIssues'];

/** The parts of the REST interface of Jira Cloud (version 3) that the provider uses, in its documented form. */
export async function startJira(): Promise<JiraServer> {
  let token = 'first-token';
  let renewals = 0;
  let epoch = 1;
  let clock = 0;
  let index: FakeIssue[] | null = null;
  const now = () => (clock = Math.max(Date.now(), clock + 1));

  const time = (ms: number) => new Date(ms).toISOString().replace('Z', '+0000');
  const commentsOf = (issue: FakeIssue) =>
    issue.comments.map(({ body, author = 'Ben Example', visibility, jsdPublic = true }, at) => ({
      id: String(at + 1),
      ...(author !== null && { author: { accountId: '1:ben', displayName: author } }),
      body: richTextOf(body),
      created: '2025-02-01T09:00:00.000+0100',
      updated: '2025-02-01T09:00:00.000+0100',
      jsdPublic,
      ...(visibility !== undefined && { visibility }),
    }));
  const shown = (issue: FakeIssue, fields: readonly string[]) => {
    const all = {
      summary: issue.summary,
      issuetype: { id: '1', name: 'Bug' },
      project: { id: '7', key: issue.project },
      status: { id: '3', name: issue.status },
      labels: issue.labels,
      reporter: { accountId: '1:ada', displayName: 'Ada Example' },
      assignee: issue.assignee === null ? null : { accountId: '1:cy', displayName: issue.assignee },
      security: issue.security,
      created: time(issue.created),
      updated: time(issue.updated),
      description: issue.description,
      comment: {
        comments: commentsOf(issue).slice(-server.inlineComments),
        total: issue.comments.length,
        startAt: 0,
      },
    };
    return {
      id: issue.id,
      key: `${issue.project}-${issue.number}`,
      self: `${fake.origin}/rest/api/3/issue/${issue.id}`,
      fields: Object.fromEntries(Object.entries(all).filter(([name]) => fields.includes(name))),
    };
  };

  const search = (body: Record<string, unknown>, isAnonymous: boolean): Response => {
    if (Object.keys(body).some((name) => !searchMembers.includes(name)))
      return failure(400, 'Invalid request payload. Refer to the REST API documentation and try again.');
    const {
      jql = '',
      nextPageToken,
      maxResults = 50,
      fields = ['id'],
      reconcileIssues = [],
    } = body as {
      jql?: string;
      nextPageToken?: string;
      maxResults?: number;
      fields?: string[];
      reconcileIssues?: number[];
    };
    server.queries.push(jql);
    if (maxResults < 1 || maxResults > 5_000) return failure(400, 'maxResults must be between 1 and 5000');
    const place = nextPageToken === undefined ? { after: -1, jql, epoch } : tokenOf(nextPageToken);
    if (place === null || place.jql !== jql || place.epoch !== epoch)
      return failure(400, 'The provided next page token is invalid or expired.');
    const matches = parseJql(jql, server.projects, server.readsTimesIn ?? server.timeZone ?? 'UTC');
    const isReconciled = ({ id }: FakeIssue) => reconcileIssues.includes(Number(id));
    const indexed = index ?? server.issues;
    const all = [...indexed.filter((each) => !isReconciled(each)), ...server.issues.filter(isReconciled)]
      .filter((each) => !isAnonymous && !each.isDeleted && matches(each) && Number(each.id) > place.after)
      .sort((a, b) => Number(a.id) - Number(b.id));
    const issues = all.slice(0, Math.min(maxResults, 100));
    const isLast = issues.length === all.length;
    return json({
      issues: issues.map((each) => shown(each, fields)),
      isLast,
      ...(!isLast && {
        nextPageToken: btoa(JSON.stringify({ after: Number(issues.at(-1)?.id), jql, epoch })),
      }),
    });
  };

  const answer = (url: URL, path: string, body: Record<string, unknown>, isAnonymous: boolean): Response => {
    const query = url.searchParams;
    const there = (id: string) =>
      isAnonymous ? undefined : server.issues.find((each) => each.id === id && !each.isDeleted);
    if (path === '/serverInfo') return json({ baseUrl: 'https://jira.example', deploymentType: 'Cloud' });
    if (path === '/myself') {
      const { timeZone } = server;
      return isAnonymous
        ? failure(401, 'Client must be authenticated to access this resource.')
        : json({ accountId: '1:reader', displayName: 'Reader', ...(timeZone !== null && { timeZone }) });
    }
    if (path === '/project/search') {
      const keys = query.getAll('keys');
      if (keys.length > 50) return failure(400, 'The maximum number of keys is 50.');
      const values = server.projects
        .filter((key) => !isAnonymous && keys.includes(key))
        .map((key) => ({ id: '7', key, name: key }));
      return json({ values, isLast: true, total: values.length, startAt: 0, maxResults: 50 });
    }
    if (path === '/search/jql') return search(body, isAnonymous);
    if (path === '/issue/bulkfetch') {
      const { issueIdsOrKeys: ids, fields } = body as { issueIdsOrKeys: string[]; fields: string[] };
      if (ids.length > 100) return failure(400, 'Too many issues.');
      return json({
        issues: ids.flatMap((id) => there(id) ?? []).map((each) => shown(each, fields)),
        issueErrors: [],
      });
    }
    const [, id = '', part] = /^\/issue\/([^/]+)(?:\/(comment))?$/.exec(path) ?? [];
    const found = there(id);
    if (found === undefined)
      return failure(404, 'Issue does not exist or you do not have permission to see it.');
    if (part === undefined) return json(shown(found, (query.get('fields') ?? '').split(',')));
    const startAt = Number(query.get('startAt') ?? 0);
    const all = commentsOf(found);
    const comments = all.slice(startAt, startAt + Number(query.get('maxResults') ?? 50));
    return json({ comments, startAt, maxResults: comments.length, total: all.length });
  };

  const fake = await startHttpFake(async (request) => {
    const url = new URL(request.url);
    const given = request.headers.get('authorization');
    const isKnown = [`Basic ${btoa(`reader@example.com:${token}`)}`, 'Bearer scoped'].includes(given ?? '');
    const [, path] = /^(?:\/ex\/jira\/[^/]+)?\/rest\/api\/3(\/.*)$/.exec(url.pathname) ?? [];
    const respond = async () => {
      if (!isKnown && !server.answersAnonymous)
        return json({ code: 401, message: 'Unauthorized' }, 401, { 'www-authenticate': 'OAuth realm="x"' });
      if (path === undefined) return new Response('<html>', { status: 404 });
      if (request.method === 'POST' && request.headers.get('content-type') !== 'application/json')
        return failure(415, 'Unsupported Media Type');
      const body = request.method === 'POST' ? ((await request.json()) as Record<string, unknown>) : {};
      try {
        return answer(url, path, body, !isKnown);
      } catch (error) {
        if (error instanceof BadQuery) return failure(400, error.message);
        throw error;
      }
    };
    const made = await respond();
    if (!isKnown) made.headers.set('x-seraph-loginreason', 'AUTHENTICATED_FAILED');
    if (server.date !== null) made.headers.set('date', server.date);
    server.asked.push([`${request.method} ${path ?? url.pathname}`, made.status]);
    return made;
  });

  const value = (): CredentialValue => ({ kind: 'basic', username: 'reader@example.com', password: token });
  const current = (name: string) =>
    server.issues.find(({ summary, isDeleted }) => summary === name && !isDeleted);
  const server: JiraServer = {
    ...fake,
    slug: 'jira',
    scopeConfig: { base_url: fake.origin, projects: ['APP'], relist_hours: 0 },
    credential: { origin: fake.origin, value: value() },
    allowedOrigins: [fake.origin],
    roots: {},
    issues: [],
    projects: ['APP', 'OPS'],
    timeZone: 'America/New_York',
    readsTimesIn: null,
    date: null,
    inlineComments: 20,
    answersAnonymous: false,
    asked: [],
    queries: [],
    freezeIndex: (isFrozen) => {
      index = isFrozen ? server.issues.map((issue) => ({ ...issue })) : null;
    },
    expire: () => {
      epoch += 1;
    },
    add: (summary, text, more = {}) => {
      const at = now();
      const made: FakeIssue = {
        id: String(10_001 + server.issues.length),
        project: 'APP',
        number: server.issues.length + 1,
        summary,
        description: richTextOf(text),
        status: 'To Do',
        labels: [],
        assignee: null,
        security: null,
        comments: [],
        created: at,
        updated: at,
        isDeleted: false,
        ...more,
      };
      server.issues.push(made);
      return made;
    },
    change: (issue, more) => {
      Object.assign(issue, { updated: now() }, more);
    },
    put: (name, content) => {
      const text = Buffer.from(content).toString();
      const found = current(name);
      if (found === undefined) server.add(name, text);
      else server.change(found, { description: richTextOf(text) });
      return Promise.resolve();
    },
    move: (from, to) => {
      const found = current(from);
      if (found !== undefined) server.change(found, { summary: to });
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
  return server;
}

function tokenOf(text: string): { after: number; jql: string; epoch: number } | null {
  try {
    return JSON.parse(atob(text)) as { after: number; jql: string; epoch: number };
  } catch {
    return null;
  }
}
