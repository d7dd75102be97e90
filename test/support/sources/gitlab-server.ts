import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import { startHttpFake } from './http-fake.ts';
import type { FakeSource } from './source-contract.ts';

export interface FakeNote {
  body: string;
  author?: string | null;
  system?: boolean;
  internal?: boolean;
}

export interface FakeItem {
  kind: 'issues' | 'merge_requests';
  iid: number;
  title: string;
  description: string;
  state: string;
  labels: string[];
  notes: FakeNote[];
  updated: string;
  confidential: boolean;
  isDeleted: boolean;
}

export interface FakeWikiPage {
  slug: string;
  title: string;
  format: string;
  content: string;
}

export interface GitlabServer extends FakeSource {
  items: FakeItem[];
  wiki: FakeWikiPage[];
  add(title: string, description: string, more?: Partial<FakeItem>): FakeItem;
  /** As if the item had last been changed so long ago. */
  age(item: FakeItem, ms: number): void;
  /** What was asked for: path with query, and the status of the response. */
  asked: [path: string, status: number][];
  /** Which features of the project are switched off. */
  off: Set<'issues' | 'merge_requests' | 'wikis'>;
  /** Older than 18.3: lists of issues have no keyset paging. */
  hasKeyset: boolean;
  /** The token may read the project and not its own user. */
  isFineGrained: boolean;
  /** Responses name the next page with `X-Next-Page` alone. */
  hidesLinks: boolean;
  /** Runs with each request, before it is answered. */
  before: (path: string) => void;
}

type Kind = FakeItem['kind'] | 'wiki_pages';

/** The parts of the REST interface of GitLab that the provider uses, in its documented form. `put` makes the kind. */
export async function startGitlab(kind: Kind = 'issues'): Promise<GitlabServer> {
  let token = 'first-token';
  let renewals = 0;
  const said = (text: string, status: number, headers: Record<string, string> = {}) =>
    Response.json({ message: text }, { status, headers });

  const shown = (item: FakeItem) => ({
    id: 1_000 + item.iid,
    iid: item.iid,
    project_id: 7,
    title: item.title,
    description: item.description === '' ? null : item.description,
    state: item.state,
    web_url: `https://gitlab.example/acme/app/-/${item.kind}/${item.iid}`,
    author: { id: 1, username: 'ada', name: 'Ada Example', state: 'active' },
    labels: item.labels,
    user_notes_count: item.notes.filter(({ system }) => system !== true).length,
    created_at: '2025-01-01T00:00:00.000Z',
    updated_at: item.updated,
    ...(item.kind === 'issues' && { confidential: item.confidential, issue_type: 'issue' }),
  });
  const shownNote = (note: FakeNote, at: number) => ({
    id: at + 1,
    body: note.body,
    author: note.author === null ? null : { id: 2, username: 'ben', name: note.author ?? 'Ben Example' },
    created_at: '2025-02-01T00:00:00.000Z',
    system: note.system ?? false,
    internal: note.internal ?? false,
    confidential: note.internal ?? false,
  });

  const byOffset = (url: URL, all: readonly unknown[]): Response => {
    const size = Math.min(Number(url.searchParams.get('per_page') ?? 20), 100);
    const page = Number(url.searchParams.get('page') ?? 1);
    if (!Number.isInteger(page) || page < 1)
      return Response.json({ error: 'page is invalid' }, { status: 400 });
    const hasNext = all.length > page * size;
    const at = (number: number) => {
      const other = new URL(url);
      other.searchParams.set('page', String(number));
      return `<${other.href}>`;
    };
    const link = `${at(1)}; rel="first"${hasNext ? `, ${at(page + 1)}; rel="next"` : ''}`;
    return Response.json(all.slice((page - 1) * size, page * size), {
      headers: {
        'x-page': String(page),
        'x-per-page': String(size),
        'x-next-page': hasNext ? String(page + 1) : '',
        ...(!server.hidesLinks && { link }),
      },
    });
  };
  const byKeyset = (url: URL, all: readonly FakeItem[]): Response => {
    const size = Math.min(Number(url.searchParams.get('per_page') ?? 20), 100);
    const cursor = url.searchParams.get('cursor');
    const after = cursor === null ? 0 : Number(Buffer.from(cursor, 'base64').toString());
    if (!Number.isInteger(after)) return Response.json({ error: 'cursor is invalid' }, { status: 400 });
    const following = all.filter(({ iid }) => iid > after);
    const page = following.slice(0, size);
    const next = new URL(url);
    next.searchParams.set('cursor', Buffer.from(String(page.at(-1)?.iid)).toString('base64'));
    return Response.json(page.map(shown), {
      headers: { ...(following.length > size && { link: `<${next.href}>; rel="next"` }) },
    });
  };

  const answerItems = (of: FakeItem['kind'], url: URL, iid?: string, part?: string): Response => {
    const within = server.items.filter((each) => each.kind === of && !each.isDeleted);
    if (iid === undefined) {
      const after = Date.parse(url.searchParams.get('updated_after') ?? '1970-01-01T00:00:00Z');
      const listed = within.filter(({ updated }) => Date.parse(updated) >= after);
      if (url.searchParams.get('pagination') !== 'keyset') return byOffset(url, listed.map(shown));
      return of === 'issues' && server.hasKeyset
        ? byKeyset(url, listed)
        : Response.json(
            { error: 'Keyset pagination is not yet available for this type of request' },
            { status: 405 },
          );
    }
    const found = within.find((each) => each.iid === Number(iid));
    if (found === undefined) return said('404 Not found', 404);
    return part === undefined ? Response.json(shown(found)) : byOffset(url, found.notes.map(shownNote));
  };
  const answerWiki = (slug?: string): Response => {
    if (slug === undefined)
      return Response.json(
        server.wiki.map(({ slug: name, title, format }) => ({
          slug: name,
          title,
          format,
          encoding: 'UTF-8',
        })),
      );
    const found = server.wiki.find((page) => page.slug === decodeURIComponent(slug));
    return found === undefined
      ? said('404 Wiki Page Not Found', 404)
      : Response.json({ ...found, encoding: 'UTF-8' });
  };

  const answer = (request: Request): Response => {
    const url = new URL(request.url);
    const { headers } = request;
    const bearer = headers.get('authorization')?.replace(/^Bearer /, '') ?? null;
    const given = headers.get('private-token') ?? bearer;
    if (given !== null && given !== token)
      return bearer === null
        ? said('401 Unauthorized', 401)
        : Response.json({ error: 'invalid_token', error_description: 'Token was revoked.' }, { status: 401 });
    if (url.pathname === '/api/v4/user') {
      if (given === null) return said('401 Unauthorized', 401);
      return server.isFineGrained
        ? Response.json({ error: 'insufficient_granular_scope' }, { status: 403 })
        : Response.json({ id: 1, username: 'ada' });
    }
    const [, project = '', list, id, part] =
      /^\/api\/v4\/projects\/([^/]+)(?:\/(issues|merge_requests|wikis)(?:\/([^/]+)(?:\/(notes))?)?)?$/.exec(
        url.pathname,
      ) ?? [];
    if (project === 'old%2Fapp')
      return said('301 Moved Permanently', 301, { location: url.href.replace('old%2Fapp', '7') });
    if (project !== 'acme%2Fapp' && project !== '7') return said('404 Project Not Found', 404);
    if (list === undefined) return Response.json({ id: 7, path_with_namespace: 'acme/app' });
    if (server.off.has(list as 'issues')) return said('403 Forbidden', 403);
    if (part === 'notes' && given === null) return said('401 Unauthorized', 401);
    return list === 'wikis' ? answerWiki(id) : answerItems(list as FakeItem['kind'], url, id, part);
  };
  const fake = await startHttpFake((request) => {
    const { pathname, search } = new URL(request.url);
    server.before(pathname + search);
    const made = answer(request);
    server.asked.push([pathname + search, made.status]);
    return made;
  });
  const value = (): CredentialValue => ({ kind: 'bearer', token });
  const now = () => new Date().toISOString();
  const current = (name: string) =>
    server.items.find((each) => each.kind === kind && each.title === name && !each.isDeleted);
  const page = (name: string) => server.wiki.find(({ slug }) => slug === name);
  const server: GitlabServer = {
    ...fake,
    slug: 'gitlab',
    scopeConfig: { base_url: fake.origin, project: 'acme/app', kinds: [kind], relist_hours: 0 },
    credential: { origin: fake.origin, value: value() },
    allowedOrigins: [fake.origin],
    roots: {},
    items: [],
    wiki: [],
    asked: [],
    off: new Set(),
    hasKeyset: true,
    isFineGrained: false,
    hidesLinks: false,
    before: () => {},
    add: (title, description, more = {}) => {
      const made: FakeItem = {
        kind: 'issues',
        iid: server.items.filter((each) => each.kind === (more.kind ?? 'issues')).length + 1,
        title,
        description,
        state: 'opened',
        labels: [],
        notes: [],
        updated: now(),
        confidential: false,
        isDeleted: false,
        ...more,
      };
      server.items.push(made);
      return made;
    },
    age: (item, ms) => {
      item.updated = new Date(Date.now() - ms).toISOString();
    },
    put: (name, content) => {
      const text = Buffer.from(content).toString();
      if (kind === 'wiki_pages') {
        const found = page(name);
        const title = name.split('/').at(-1) ?? name;
        if (found === undefined) server.wiki.push({ slug: name, title, format: 'markdown', content: text });
        else found.content = text;
        return Promise.resolve();
      }
      const found = current(name);
      if (found === undefined) server.add(name, text, { kind });
      else Object.assign(found, { description: text, updated: now() });
      return Promise.resolve();
    },
    move: (from, to) => {
      const found = kind === 'wiki_pages' ? page(from) : current(from);
      if (found !== undefined)
        Object.assign(found, kind === 'wiki_pages' ? { slug: to } : { title: to, updated: now() });
      return Promise.resolve();
    },
    remove: (name) => {
      if (kind === 'wiki_pages') server.wiki = server.wiki.filter(({ slug }) => slug !== name);
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
