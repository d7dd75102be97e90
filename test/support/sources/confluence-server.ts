import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import { startHttpFake } from './http-fake.ts';
import type { FakeSource } from './source-contract.ts';

interface Who {
  users: string[];
  groups: string[];
}

interface FakePage {
  id: string;
  title: string;
  content: string;
  version: number;
  parentId: string | null;
  spaceId: string;
  status: 'current' | 'trashed' | 'draft';
  type: 'page' | 'folder';
  restricted: Who | null;
}

export interface ConfluenceServer extends FakeSource {
  /** What addresses of pages begin with; that of the interface where it is not set. */
  site: string | null;
  pages: FakePage[];
  /** Keys of spaces by their ids. */
  spaces: Map<string, string>;
  spaceReaders: Who;
  emails: Map<string, string>;
  members: Map<string, string[]>;
  /** Storage format in place of a paragraph with the text. */
  putStorage(name: string, storage: string, more?: Partial<FakePage>): FakePage;
  /** What was asked for, as `METHOD path`. */
  asked: string[];
  /** Makes all cursors given until now invalid. */
  expire(): void;
}

/** Of members on a page of version 1. */
const serviceLimit = 150;

const json = (value: unknown, status = 200, headers: Record<string, string> = {}) =>
  Response.json(value, { status, headers });
const failure = (status: number, code: string) =>
  json({ errors: [{ status, code, title: 'What the service says', detail: null }] }, status);

/** The parts of the interface of Confluence Cloud that the provider uses, in its documented form. */
export async function startConfluence(): Promise<ConfluenceServer> {
  const pages: FakePage[] = [];
  const spaces = new Map([['10', 'DOC']]);
  const emails = new Map<string, string>();
  const members = new Map<string, string[]>();
  const asked: string[] = [];
  let token = 'first-token';
  let nextId = 100;
  let epoch = 1;
  let bearer: string | null = null;
  const server = { spaceReaders: { users: [], groups: [] } as Who, site: null as string | null };
  const typeOf = (id: string | null) => pages.find((page) => page.id === id)?.type ?? null;

  const shown = ({ id, title, version, parentId, spaceId, status }: FakePage) => ({
    id,
    status,
    title,
    spaceId,
    parentId,
    parentType: typeOf(parentId),
    position: 1,
    authorId: '1:author',
    createdAt: '2025-01-01T00:00:00.000Z',
    version: { number: version, message: '', minorEdit: false, authorId: '1:author' },
    _links: {
      webui: `/spaces/${spaces.get(spaceId)}/pages/${id}/${encodeURIComponent(title)}`,
      editui: '/x',
    },
  });
  const links = (url: URL, next: string | null) => {
    const to = new URLSearchParams(url.searchParams);
    to.set('cursor', next ?? '');
    return {
      base: server.site ?? `${fake.origin}/wiki`,
      ...(next !== null && { next: `${url.pathname}?${to.toString()}` }),
    };
  };

  const answer = (request: Request, url: URL, path: string, body: unknown): Response => {
    const query = url.searchParams;
    const limit = Number(query.get('limit') ?? 25);
    if (!(limit >= 1 && limit <= 250)) return failure(400, 'INVALID_REQUEST_PARAMETER');
    const [, id = ''] = /\/(?:pages|spaces|content|group)\/([^/]+)/.exec(path) ?? [];
    const found = pages.find((page) => page.id === id);
    // Folders have paths of their own in version 2.
    if (path.startsWith('/api/v2/pages/') && found?.type !== 'page') return failure(404, 'NOT_FOUND');
    if (path === '/api/v2/pages') {
      const after = cursorOf(query.get('cursor'), epoch);
      if (after === null) return failure(400, 'INVALID_REQUEST_PARAMETER');
      const within = query.get('space-id')?.split(',');
      const all = pages.filter(
        (page) =>
          page.type === 'page' &&
          page.status === 'current' &&
          (within?.includes(page.spaceId) ?? true) &&
          Number(page.id) > after,
      );
      const results = all.slice(0, limit);
      const last = results.at(-1);
      const next = all.length > limit && last ? btoa(JSON.stringify({ id: last.id, epoch })) : null;
      return json({ results: results.map(shown), _links: links(url, next) });
    }
    if (path === '/api/v2/spaces') {
      const keys = query.get('keys')?.split(',');
      const results = [...spaces].flatMap(([spaceId, key]) =>
        (keys?.includes(key) ?? true)
          ? [{ id: spaceId, key, name: key, type: 'global', status: 'current' }]
          : [],
      );
      return json({ results, _links: links(url, null) });
    }
    if (/^\/api\/v2\/spaces\/[^/]+\/permissions$/.test(path)) {
      const { users, groups } = server.spaceReaders;
      const principals = [
        ...users.map((each) => ({ type: 'user', id: each })),
        ...groups.map((each) => ({ type: 'group', id: each })),
      ];
      // Two pages, so that the second is asked for as well.
      const second = query.has('cursor');
      const middle = Math.ceil(principals.length / 2);
      const part = second ? principals.slice(middle) : principals.slice(0, middle);
      const results = part.flatMap((principal, at) => [
        { id: `r${at}`, principal, operation: { key: 'read', targetType: 'space' } },
        {
          id: `d${at}`,
          principal: { type: 'user', id: '1:other' },
          operation: { key: 'delete', targetType: 'page' },
        },
      ]);
      return json({ results, _links: links(url, second || principals.length < 2 ? null : 'second') });
    }
    if (/^\/api\/v2\/pages\/[^/]+\/ancestors$/.test(path)) {
      const above: { id: string; type: string }[] = [];
      for (let at = found?.parentId; at != null; at = pages.find((page) => page.id === at)?.parentId)
        above.unshift({ id: at, type: typeOf(at) ?? 'page' });
      return json({ results: above, _links: links(url, null) });
    }
    if (/^\/api\/v2\/pages\/[^/]+$/.test(path)) {
      const storage = { representation: 'storage', value: found!.content };
      return json({ ...shown(found!), body: query.get('body-format') === 'storage' ? { storage } : {} });
    }
    if (path === '/api/v2/users-bulk' && request.method === 'POST') {
      const { accountIds } = body as { accountIds: string[] };
      const results = accountIds.map((accountId) => ({
        accountId,
        email: emails.get(accountId) ?? '',
        accountStatus: 'active',
      }));
      return json({ results });
    }
    if (path.endsWith('/restriction/byOperation/read')) {
      if (found === undefined) return json({ statusCode: 404, message: 'No content found' }, 404);
      const { users = [], groups = [] } = found.restricted ?? {};
      return json({
        operation: 'read',
        restrictions: {
          user: { results: users.map((accountId) => ({ type: 'known', accountId })), start: 0, limit: 200 },
          group: {
            results: groups.map((each) => ({ type: 'group', name: each, id: each })),
            start: 0,
            limit: 200,
          },
        },
      });
    }
    const start = Number(query.get('start') ?? 0);
    if (path === '/rest/api/group') {
      const all = [...members.keys()].map((each) => ({ type: 'group', name: each, id: each }));
      return json(versionOne(url, all, { start, limit }));
    }
    if (path.endsWith('/membersByGroupId')) {
      const all = members.get(id);
      if (all === undefined) return json({ statusCode: 404 }, 404);
      const known = all.map((accountId) => ({
        type: 'known',
        accountId,
        email: emails.get(accountId) ?? '',
      }));
      return json(versionOne(url, known, { start, limit }));
    }
    return failure(404, 'NOT_FOUND');
  };

  const fake = await startHttpFake(async (request) => {
    const url = new URL(request.url);
    const wanted = [
      `Basic ${btoa(`reader@example.com:${token}`)}`,
      ...(bearer === null ? [] : [`Bearer ${bearer}`]),
    ];
    if (!wanted.includes(request.headers.get('authorization') ?? '')) {
      return json({ code: 401, message: 'Unauthorized' }, 401, { 'www-authenticate': 'OAuth realm="x"' });
    }
    if (!url.pathname.startsWith('/wiki/')) return new Response('<html>', { status: 404 });
    const path = url.pathname.slice('/wiki'.length);
    asked.push(`${request.method} ${path}`);
    const body: unknown = request.method === 'POST' ? await request.json() : null;
    return answer(request, url, path, body);
  });
  bearer = 'scoped';
  const value = (): CredentialValue => ({ kind: 'basic', username: 'reader@example.com', password: token });
  const current = (name: string) => pages.find(({ title, status }) => title === name && status === 'current');
  const putStorage = (name: string, storage: string, more: Partial<FakePage> = {}) => {
    const found = current(name);
    if (found !== undefined) {
      Object.assign(found, more, { content: storage, version: found.version + 1 });
      return found;
    }
    const made: FakePage = {
      id: String((nextId += 1)),
      title: name,
      content: storage,
      version: 1,
      parentId: null,
      spaceId: '10',
      status: 'current',
      type: 'page',
      restricted: null,
      ...more,
    };
    pages.push(made);
    return made;
  };
  return Object.assign(server, {
    ...fake,
    slug: 'confluence',
    scopeConfig: { base_url: `${fake.origin}/wiki`, spaces: ['DOC'], readers: false },
    credential: { origin: fake.origin, value: value() },
    allowedOrigins: [fake.origin],
    roots: {},
    pages,
    spaces,
    emails,
    members,
    asked,
    putStorage,
    expire: () => {
      epoch += 1;
    },
    put: (name: string, content: string | Uint8Array) => {
      putStorage(name, `<p>${escape(Buffer.from(content).toString())}</p>`);
      return Promise.resolve();
    },
    move: (from: string, to: string) => {
      const found = current(from);
      if (found !== undefined) Object.assign(found, { title: to, version: found.version + 1 });
      return Promise.resolve();
    },
    remove: (name: string) => {
      const found = current(name);
      if (found !== undefined) found.status = 'trashed';
      return Promise.resolve();
    },
    renewCredential: () => {
      token = `token-${(nextId += 1)}`;
      return Promise.resolve(value());
    },
    close: () => fake.stop(),
  });
}

/** A page of version 1 of the interface, which holds fewer members than asked for where the service has a lower limit. */
function versionOne(url: URL, all: readonly object[], { start, limit }: { start: number; limit: number }) {
  const results = all.slice(start, start + Math.min(limit, serviceLimit));
  const end = start + results.length;
  const next = end < all.length ? { next: `${url.pathname}?start=${end}&limit=${limit}` } : {};
  return { results, start, limit: Math.min(limit, serviceLimit), size: results.length, _links: next };
}

function cursorOf(cursor: string | null, epoch: number): number | null {
  if (cursor === null) return 0;
  try {
    const held = JSON.parse(atob(cursor)) as { id: string; epoch: number };
    return held.epoch === epoch ? Number(held.id) : null;
  } catch {
    return null;
  }
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
