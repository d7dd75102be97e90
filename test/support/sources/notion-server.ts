import { randomUUID } from 'node:crypto';
import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import { startHttpFake } from './http-fake.ts';
import { paragraphs, richText, shownBlock, type FakeBlock } from './notion-blocks.ts';
import type { FakeSource } from './source-contract.ts';

export interface FakePage {
  id: string;
  title: string;
  parent: object;
  /** Milliseconds; shown as the minute. */
  edited: number;
  inTrash: boolean;
  /** Not shared with the integration any more. */
  isHidden: boolean;
  /** Shown without anything but its id. */
  isPartial: boolean;
  properties: Record<string, object>;
  blocks: FakeBlock[];
}

export interface NotionServer extends FakeSource {
  pages: FakePage[];
  /** What stands in what, for blocks, databases and data sources, by `<kind>/<id>`. */
  parents: Map<string, object>;
  add(title: string, blocks: FakeBlock[], more?: Partial<FakePage>): FakePage;
  edit(page: FakePage, blocks: FakeBlock[]): void;
  /** As if everything had last been edited so long ago. */
  age(ms: number): void;
  /** What was asked for, as `METHOD path`. */
  asked: string[];
  /** Makes all cursors given until now invalid. */
  expire(): void;
  /** Milliseconds by which the clock of the service is ahead. */
  ahead: number;
  /** The search ends after so many results, and says so. */
  resultLimit: number;
  /** The search refuses to list the trash. */
  hidesTrash: boolean;
  userId: string;
  /** Answers a request in place of the service where it returns a response. */
  before: (path: string) => Response | null;
}

const minuteMs = 60_000;
export const database = '11111111-aaaa-4aaa-8aaa-111111111111';
export const dataSource = '22222222-bbbb-4bbb-8bbb-222222222222';
export const teamPage = '33333333-cccc-4ccc-8ccc-333333333333';

export function refusal(status: number, code: string, headers: Record<string, string> = {}): Response {
  return Response.json(
    { object: 'error', status, code, message: 'What the service says.', request_id: randomUUID() },
    { status, headers },
  );
}

/** The parts of the interface of Notion that the provider uses, in its documented form. `put` makes pages, or rows. */
export async function startNotion(kind: 'pages' | 'rows' = 'pages'): Promise<NotionServer> {
  let token = 'ntn_first';
  let renewals = 0;
  const cursors = new Map<string, { query: string; after: number }>();
  const workspace = { type: 'workspace', workspace: true };
  const row = { type: 'data_source_id', data_source_id: dataSource, database_id: database };
  const nowMs = () => Date.now() + server.ahead;

  const shown = (page: FakePage) =>
    page.isPartial
      ? { object: 'page', id: page.id }
      : {
          object: 'page',
          id: page.id,
          created_time: '2025-01-01T00:00:00.000Z',
          last_edited_time: new Date(Math.floor(page.edited / minuteMs) * minuteMs).toISOString(),
          created_by: { object: 'user', id: server.userId },
          last_edited_by: { object: 'user', id: server.userId },
          cover: null,
          icon: null,
          parent: page.parent,
          in_trash: page.inTrash,
          is_archived: false,
          is_locked: false,
          properties: {
            Name: { id: 'title', type: 'title', title: richText(page.title) },
            ...page.properties,
          },
          url: `https://www.notion.so/${page.id.replaceAll('-', '')}`,
          public_url: null,
        };
  const list = (type: string, results: object[], next: string | null, more: object = {}) =>
    Response.json({
      object: 'list',
      results,
      next_cursor: next,
      has_more: next !== null,
      type,
      [type]: {},
      ...more,
      request_id: randomUUID(),
    });

  /** A part of a list: cursors are of one query, and mean nothing to others. */
  const partOf = <T>(all: readonly T[], query: string, size: unknown, cursor: unknown) => {
    const count = size === undefined ? 100 : Number(size);
    const from = cursor == null ? { query, after: 0 } : cursors.get(cursor as string);
    if (!(count >= 1 && count <= 100) || from?.query !== query) return null;
    const after = from.after + count;
    if (after >= all.length) return { part: all.slice(from.after), next: null };
    const next = randomUUID();
    cursors.set(next, { query, after });
    return { part: all.slice(from.after, after), next };
  };

  const search = (body: Record<string, unknown>): Response => {
    const { filter, sort, page_size: size, start_cursor: cursor, ...rest } = body;
    const { property, value, in_trash: inTrash = false } = (filter ?? {}) as Record<string, unknown>;
    const { timestamp, direction } = (sort ?? {}) as Record<string, unknown>;
    if (
      Object.keys(rest).length > 0 ||
      property !== 'object' ||
      value !== 'page' ||
      timestamp !== 'last_edited_time' ||
      direction !== 'descending' ||
      (inTrash === true && server.hidesTrash)
    )
      return refusal(400, 'validation_error');
    const all = server.pages
      .filter((page) => !page.isHidden && page.inTrash === inTrash)
      .sort((a, b) => b.edited - a.edited);
    const within = all.slice(0, server.resultLimit);
    const found = partOf(within, `search/${String(inTrash)}`, size, cursor);
    if (found === null) return refusal(400, 'validation_error');
    const status =
      all.length > within.length
        ? { type: 'incomplete', incomplete_reason: 'query_result_limit_reached' }
        : { type: 'complete' };
    return list('page_or_data_source', found.part.map(shown), found.next, { request_status: status });
  };

  const blocksOf = (id: string): readonly FakeBlock[] | null => {
    const page = server.pages.find((each) => each.id === id && !each.isHidden);
    if (page !== undefined) return page.blocks;
    const left = server.pages.flatMap(({ blocks }) => blocks);
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      if (next.id === id) return next.children;
      left.push(...next.children);
    }
    return null;
  };

  const answer = (method: string, path: string, query: URLSearchParams, body: unknown): Response => {
    if (method === 'GET' && path === '/users/me')
      return Response.json({ object: 'user', id: server.userId, type: 'bot', bot: {}, name: 'Reader' });
    if (method === 'POST' && path === '/search') return search(body as Record<string, unknown>);
    const [, kindOf = '', id = '', children] = /^\/(\w+)\/([^/]+)(\/children)?$/.exec(path) ?? [];
    if (method !== 'GET' || kindOf === '') return refusal(400, 'invalid_request_url');
    if (children !== undefined) {
      const blocks = blocksOf(id);
      if (blocks === null) return refusal(404, 'object_not_found');
      const found = partOf(blocks, id, query.get('page_size') ?? undefined, query.get('start_cursor'));
      return found === null
        ? refusal(400, 'validation_error')
        : list('block', found.part.map(shownBlock), found.next);
    }
    const page =
      kindOf === 'pages' ? server.pages.find((each) => each.id === id && !each.isHidden) : undefined;
    if (page !== undefined) return Response.json(shown(page));
    const above = server.parents.get(`${kindOf}/${id}`);
    if (above !== undefined) return Response.json({ object: kindOf.slice(0, -1), id, parent: above });
    return server.parents.has(`databases/${id}`)
      ? refusal(400, 'validation_error')
      : refusal(404, 'object_not_found');
  };

  const fake = await startHttpFake(async (request) => {
    const url = new URL(request.url);
    const path = url.pathname.replace(/^\/v1/, '');
    server.asked.push(`${request.method} ${path}`);
    const own = server.before(path);
    if (own !== null) return own;
    if (request.headers.get('authorization') !== `Bearer ${token}`) return refusal(401, 'unauthorized');
    if (request.headers.get('notion-version') !== '2026-03-11') return refusal(400, 'missing_version');
    const text = await request.text();
    const made = answer(request.method, path, url.searchParams, text === '' ? null : JSON.parse(text));
    made.headers.set('date', new Date(nowMs()).toUTCString());
    return made;
  });

  const server: NotionServer = {
    ...fake,
    slug: 'notion',
    scopeConfig: {
      api_url: fake.origin,
      relist_hours: 0,
      ...(kind === 'rows' && { root_pages: [teamPage] }),
    },
    credential: { origin: fake.origin, value: { kind: 'bearer', token } },
    allowedOrigins: [fake.origin],
    roots: {},
    pages: [],
    parents: new Map<string, object>([
      [`databases/${database}`, { type: 'block_id', block_id: '44444444-dddd-4ddd-8ddd-444444444444' }],
      [`data_sources/${dataSource}`, { type: 'database_id', database_id: database }],
      ['blocks/44444444-dddd-4ddd-8ddd-444444444444', { type: 'page_id', page_id: teamPage }],
      [`pages/${teamPage}`, workspace],
    ]),
    asked: [],
    ahead: 0,
    resultLimit: Infinity,
    hidesTrash: false,
    userId: '55555555-eeee-4eee-8eee-555555555555',
    before: () => null,
    add(title, blocks, more = {}) {
      const page: FakePage = {
        id: randomUUID(),
        title,
        parent: kind === 'rows' ? row : workspace,
        edited: nowMs(),
        inTrash: false,
        isHidden: false,
        isPartial: false,
        properties: {},
        blocks,
        ...more,
      };
      server.pages.push(page);
      return page;
    },
    edit(page, blocks) {
      page.blocks = blocks;
      page.edited = nowMs();
    },
    age(ms) {
      for (const page of server.pages) page.edited -= ms;
    },
    expire: () => cursors.clear(),
    put(name, content) {
      const blocks = paragraphs(Buffer.from(content).toString());
      const found = server.pages.find(({ title, inTrash }) => title === name && !inTrash);
      if (found === undefined) server.add(name, blocks);
      else server.edit(found, blocks);
      return Promise.resolve();
    },
    move(from, to) {
      for (const page of server.pages.filter(({ title, inTrash }) => title === from && !inTrash)) {
        page.title = to;
        page.edited = nowMs();
      }
      return Promise.resolve();
    },
    remove(name) {
      for (const page of server.pages.filter(({ title, inTrash }) => title === name && !inTrash)) {
        page.inTrash = true;
        page.edited = nowMs();
      }
      return Promise.resolve();
    },
    renewCredential() {
      renewals += 1;
      token = `ntn_renewed_${renewals}`;
      return Promise.resolve<CredentialValue>({ kind: 'bearer', token });
    },
    close: () => fake.stop(),
  };
  return server;
}
