import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import { sharepointProvider } from '#adapters/sources/sharepoint/provider.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import { startHttpFake, type HttpFake } from './http-fake.ts';
import { openSource } from './open-source.ts';
import { FakeDrive } from './sharepoint-drive.ts';
import type { FakeSource } from './source-contract.ts';

export interface SharepointServer extends FakeSource {
  /** The library “Documents”. */
  drive: FakeDrive;
  drives: FakeDrive[];
  /** The host that stores contents, at preauthenticated addresses. */
  files: HttpFake;
  addLibrary(name: string): FakeDrive;
  /** Tokens given until now are refused with this code. */
  expire(code: string): void;
  /** Folders above changed items are listed even where the request excludes them. */
  ignoreExclusion(): void;
  /** Items whose content is refused. */
  refused: Set<string>;
  /** Items that are not shown by themselves. */
  hidden: Set<string>;
  /** Libraries that the site does not list, though they are there. */
  unlisted: Set<string>;
  /** Its clock is ahead of ours by so many milliseconds. */
  setClock(aheadMs: number): void;
  /** Paths of requests, without the version. */
  asked: string[];
  /** Headers of the requests to the host of contents. */
  downloads: Headers[];
}

const site =
  'contoso.sharepoint.com,2C712604-1370-44E7-A1F5-426573FDA80A,2D2244C3-251A-49EA-93A8-39E1C3A060FE';
const drivesOfPage = 2;

interface Token {
  after: number;
  until: number;
  /** Place of the last change of the page before; null: the first page. */
  seen: number | null;
  valid: number;
}

/** The parts of Microsoft Graph 1.0 that the provider uses, in their documented form. */
export async function startSharepoint(): Promise<SharepointServer> {
  const drive = new FakeDrive('Documents');
  const drives = [drive];
  const refused = new Set<string>();
  const hidden = new Set<string>();
  const unlisted = new Set<string>();
  let aheadMs = 0;
  const asked: string[] = [];
  const downloads: Headers[] = [];
  let token = 'first-token';
  let renewed = 0;
  let valid = 0;
  let expiredCode = 'resyncChangesApplyDifferences';
  let honoursExclusion = true;

  const failure = (status: number, code: string, headers: Record<string, string> = {}) =>
    Response.json(
      {
        error: {
          code,
          message: 'What the service says.',
          innerError: {
            date: '2025-06-01T00:00:00',
            'request-id': 'f6d4d1e4',
            'client-request-id': 'f6d4d1e4',
          },
        },
      },
      { status, headers },
    );
  const selected = (all: Record<string, unknown>, query: URLSearchParams) => {
    const fields = query.get('$select')?.split(',') ?? null;
    return fields === null
      ? all
      : Object.fromEntries(Object.entries(all).filter(([name]) => fields.includes(name)));
  };

  const files = await startHttpFake((request) => {
    downloads.push(request.headers);
    const { searchParams: query } = new URL(request.url);
    const item = drives.flatMap(({ items }) => items).find(({ id }) => id === query.get('UniqueId'));
    // SharePoint refuses two credentials in one request.
    if (request.headers.has('authorization') || query.get('tempauth') !== 'for-minutes') {
      return new Response('401 UNAUTHORIZED', { status: 401 });
    }
    if (item?.content == null || item.isDeleted) return new Response('404 FILE NOT FOUND', { status: 404 });
    return new Response(new Uint8Array(item.content), {
      headers: { 'content-type': 'application/octet-stream' },
    });
  });

  const delta = (of: FakeDrive, url: URL, headers: Headers): Response => {
    const { searchParams: query } = url;
    const given =
      query.get('token') ?? /\(token='([^']+)'\)/.exec(decodeURIComponent(url.pathname))?.[1] ?? null;
    const at: Token =
      given === null
        ? { after: 0, until: of.changes, seen: null, valid }
        : (JSON.parse(Buffer.from(given, 'base64url').toString()) as Token);
    if (at.valid !== valid) {
      return failure(410, expiredCode, {
        location: `${fake.origin}/v1.0/drives/${of.id}/root/delta?token=fresh`,
      });
    }
    const isExcluded =
      honoursExclusion &&
      (headers.has('deltaexcludeparent') || headers.get('prefer') === 'deltaExcludeParent');
    const until = at.seen === null ? of.changes : at.until;
    const left = of.changedSince(at.after, !isExcluded).filter(({ changed }) => changed > (at.seen ?? -1));
    const size = Number(query.get('$top') ?? 200);
    const page = left.slice(0, size);
    const value = page.map((item) => selected(of.shown(item, { inDelta: true }), query));
    const write = (next: Omit<Token, 'valid'>) =>
      // As long as those of the service.
      Buffer.from(JSON.stringify({ ...next, valid }).padEnd(180)).toString('base64url');
    const place = `${fake.origin}/v1.0/drives/${of.id}/root/delta`;
    const fields = `$select=${query.get('$select') ?? 'id'}&$top=${size}`;
    const isLast = size >= left.length;
    const seen = Math.max(at.seen ?? 0, page.at(-1)?.changed ?? 0);
    return Response.json({
      '@odata.context': `${fake.origin}/v1.0/$metadata#Collection(driveItem)`,
      ...(isLast
        ? {
            '@odata.deltaLink': `${place}(token='${write({ after: until, until: 0, seen: null })}')?${fields}`,
          }
        : {
            '@odata.nextLink': `${place}?${fields}&token=${write({ after: at.after, until, seen })}`,
          }),
      value,
    });
  };

  const answer = (request: Request): Response => {
    const url = new URL(request.url);
    const { searchParams: query } = url;
    const path = decodeURIComponent(url.pathname).replace(/^\/v1\.0/, '');
    asked.push(path);
    if (request.headers.get('authorization') !== `Bearer ${token}`) {
      return failure(401, 'InvalidAuthenticationToken');
    }
    if (path === '/sites/contoso.sharepoint.com:/sites/team' || path === '/sites/contoso.sharepoint.com') {
      return Response.json(selected({ id: site, displayName: 'Team', name: 'team' }, query));
    }
    if (path === `/sites/${site}/drives`) {
      const skip = Number(query.get('$skiptoken') ?? 0);
      const value = drives
        .filter(({ id }) => !unlisted.has(id))
        .slice(skip, skip + drivesOfPage)
        .map(({ id, name }) => selected({ id, name, driveType: 'documentLibrary' }, query));
      const isLast = skip + drivesOfPage >= drives.length;
      const next = `${fake.origin}/v1.0/sites/${site}/drives?$select=id,name&$skiptoken=${skip + drivesOfPage}`;
      return Response.json({ value, ...(!isLast && { '@odata.nextLink': next }) });
    }
    const [, driveId, rest = ''] = /^\/drives\/([^/]+)(\/.*)?$/.exec(path) ?? [];
    const of = drives.find(({ id }) => id === driveId);
    if (of === undefined) return failure(404, 'itemNotFound');
    if (rest === '') {
      const [, siteId, webId] = site.split(',');
      return Response.json(
        selected(
          { id: of.id, name: of.name, sharePointIds: { siteId: siteId?.toLowerCase(), webId } },
          query,
        ),
      );
    }
    if (rest === '/root') return Response.json(selected(of.shown(of.root, { inDelta: false }), query));
    if (rest.startsWith('/root/delta')) return delta(of, url, request.headers);
    const [, id, isContent] = /^\/items\/([^/]+)(\/content)?$/.exec(rest) ?? [];
    const item = of.items.find((each) => each.id === id && !each.isDeleted);
    if (item === undefined) return failure(404, 'itemNotFound');
    if (hidden.has(item.id)) return failure(403, 'accessDenied');
    if (isContent === undefined) return Response.json(selected(of.shown(item, { inDelta: false }), query));
    if (refused.has(item.id)) return failure(403, 'accessDenied');
    if (item.content === null) return failure(400, 'notSupported');
    const location = `${files.origin}/_layouts/15/download.aspx?UniqueId=${item.id}&tempauth=for-minutes`;
    return new Response(null, { status: 302, headers: { location } });
  };

  const fake = await startHttpFake((request) => {
    const answered = answer(request);
    answered.headers.set('date', new Date(Date.now() + aheadMs).toUTCString());
    return answered;
  });
  const value = (): CredentialValue => ({ kind: 'bearer', token });
  const done = (work: () => void): Promise<void> => {
    work();
    return Promise.resolve();
  };
  return {
    ...fake,
    slug: 'sharepoint',
    scopeConfig: { api_url: `${fake.origin}/v1.0`, site_url: 'https://contoso.sharepoint.com/sites/team' },
    credential: { origin: fake.origin, value: value() },
    allowedOrigins: [fake.origin, files.origin],
    roots: {},
    drive,
    drives,
    files,
    refused,
    hidden,
    unlisted,
    setClock: (ms) => {
      aheadMs = ms;
    },
    asked,
    downloads,
    addLibrary: (name) => {
      const added = new FakeDrive(name);
      drives.push(added);
      return added;
    },
    expire: (code) => {
      valid += 1;
      expiredCode = code;
    },
    ignoreExclusion: () => {
      honoursExclusion = false;
    },
    put: (name, content) => done(() => void drive.put(name, content)),
    move: (from, to) => done(() => drive.move(from, to)),
    remove: (name) => done(() => drive.remove(name)),
    renewCredential: () => {
      token = `token-${(renewed += 1)}`;
      return Promise.resolve(value());
    },
    requests: () => fake.requests() + files.requests(),
    close: async () => {
      await Promise.all([fake.stop(), files.stop()]);
    },
  };
}

/** @param scope in place of members of the server's own */
export function openSharepoint(
  server: SharepointServer,
  scope: object = {},
  allowedOrigins = server.allowedOrigins,
): Promise<Source> {
  const scopeConfig = { ...server.scopeConfig, ...scope };
  return openSource(sharepointProvider, { ...server, scopeConfig, allowedOrigins });
}

/** Requests for changes are answered with this. */
export function answerChanges(server: SharepointServer, body: object): void {
  server.interfere((request, response) => {
    if (!request.url?.includes('/root/delta')) return false;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
    return true;
  });
}
