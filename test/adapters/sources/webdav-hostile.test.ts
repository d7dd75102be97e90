import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AnswerLimits } from '#adapters/egress/answer-limits.ts';
import { webdavProvider } from '#adapters/sources/webdav/provider.ts';
import { parsePosition, walkOn, type Position } from '#adapters/sources/webdav/walk.ts';
import { listAll, openSource } from '#test/support/sources/open-source.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let answer: Answer;
let requests: IncomingMessage[];
let origin: string;
beforeEach(async () => {
  requests = [];
  server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', () => done()));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

const soon = () => AbortSignal.timeout(30_000);
const open = (limits: Partial<AnswerLimits> = {}, credential: { user: string } | null = null) =>
  openSource(
    webdavProvider,
    {
      slug: 'webdav',
      scopeConfig: { base_url: `${origin}/dav` },
      credential: credential && {
        origin,
        value: { kind: 'basic', username: credential.user, password: 'p' },
      },
      allowedOrigins: [origin],
      roots: {},
    },
    '',
    limits,
  );
const list = async (limits?: Partial<AnswerLimits>) => listAll(await open(limits), null, soon());
const fetchFile = async (maxBytes = 1_000, limits?: Partial<AnswerLimits>) =>
  (await open(limits)).fetch({ ref: 'a.md', version: null, mediaType: 'text/markdown', maxBytes }, soon());

const entry = (
  href: string,
  props = '<d:resourcetype/><d:getetag>"1"</d:getetag>',
  status = 'HTTP/1.1 200 OK',
) =>
  `<d:response><d:href>${href}</d:href><d:propstat><d:prop>${props}</d:prop><d:status>${status}</d:status></d:propstat></d:response>`;
const folder = (href: string) => entry(href, '<d:resourcetype><d:collection/></d:resourcetype>');
const multistatus = (...entries: string[]) =>
  `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">${entries.join('')}</d:multistatus>`;
const sends =
  (body: string | Buffer, status = 207, headers = {}): Answer =>
  (_, response) =>
    void response.writeHead(status, headers).end(body);

describe('statuses', () => {
  test.each([
    [401, {}, 'auth_failed', 'auth_failed'],
    [403, {}, 'auth_failed', 'forbidden_by_source'],
    [404, {}, 'scope_invalid', 'gone'],
    [410, {}, 'scope_invalid', 'gone'],
    [405, {}, 'scope_invalid', 'not_a_document'],
    [429, { 'retry-after': '7' }, 'rate_limited', 'rate_limited'],
    [503, { 'retry-after': '7' }, 'rate_limited', 'rate_limited'],
    [500, {}, 'source_unreachable', 'source_unreachable'],
    [502, {}, 'source_unreachable', 'source_unreachable'],
    [507, {}, 'quota_exceeded', 'quota_exceeded'],
    [501, {}, 'scope_invalid', 'source_unreachable'],
    [304, {}, 'scope_invalid', 'unchanged'],
  ])('HTTP %i', async (status, headers, listed, fetched) => {
    answer = sends('private words', status, headers);
    const failure = await list().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: listed, retryAfterMs: listed === 'rate_limited' ? 7_000 : null });
    expect(String(failure)).not.toContain('private words');
    const outcome = await fetchFile().catch((error: unknown) => error);
    expect([Reflect.get(outcome as object, 'code'), Reflect.get(outcome as object, 'kind')]).toContain(
      fetched,
    );
  });

  test('an address that answers with a page', async () => {
    answer = sends('<html>', 200);
    await expect(list()).rejects.toMatchObject({ code: 'scope_invalid' });
  });
});

describe('a server that does not answer', () => {
  test('is given up within the limit, before and within an answer', async () => {
    const begun = performance.now();
    answer = () => {};
    await expect(list({ headersMs: 200 })).rejects.toMatchObject({ code: 'source_unreachable' });
    await expect(fetchFile(9, { headersMs: 200 })).rejects.toMatchObject({ code: 'source_unreachable' });
    answer = (_, response) => void response.writeHead(207).write('<');
    await expect(list({ idleMs: 200 })).rejects.toMatchObject({ code: 'source_unreachable' });
    expect(performance.now() - begun).toBeLessThan(5_000);
    server.close();
    server.closeAllConnections();
    await expect(list()).rejects.toMatchObject({ code: 'source_unreachable' });
  });

  test('is left when the caller aborts', async () => {
    answer = () => {};
    const reason = new Error('enough');
    const stop = new AbortController();
    setTimeout(() => stop.abort(reason), 100);
    const listing = (await open()).list({ cursor: null, checkpoint: null }, stop.signal);
    await expect(listing).rejects.toBe(reason);
  });

  test('a slow answer is read to its end, one that is cut off is none', async () => {
    const whole = multistatus(folder('/dav/'), entry('/dav/a.md'));
    answer = (_, response) => {
      response.writeHead(207).write(whole.slice(0, 90));
      setTimeout(() => response.end(whole.slice(90)), 500);
    };
    expect((await list()).documents).toHaveLength(1);
    answer = (_, response) => {
      response.writeHead(207, { 'content-length': 10_000 });
      response.write(whole, () => response.destroy());
    };
    await expect(list()).rejects.toMatchObject({ code: 'source_unreachable' });
    answer = (_, response) => {
      response.writeHead(200, { 'content-length': 10_000 });
      response.write(whole, () => response.destroy());
    };
    await expect(fetchFile(20_000)).rejects.toMatchObject({ code: 'source_unreachable' });
    answer = sends(whole.slice(0, -5));
    await expect(list()).rejects.toMatchObject({ code: 'source_invalid' });
  });
});

describe('redirects', () => {
  test.each([
    ['a loop', '/dav/', 'source_invalid'],
    ['a private address', 'https://10.0.0.1/dav/', 'scope_invalid'],
    ['an address of this machine', 'http://127.0.0.1:1/dav/', 'scope_invalid'],
    ['a file', 'file:///etc/passwd', 'source_invalid'],
  ])('to %s are refused', async (_, location, code) => {
    answer = sends('', 302, { location });
    await expect(list()).rejects.toMatchObject({ code });
    await expect(fetchFile()).rejects.toMatchObject({ code });
  });

  test('to another path are followed, with the credential; a page for signing in is no document', async () => {
    answer = (request, response) => {
      if (request.url?.startsWith('/dav')) {
        const location = request.method === 'GET' ? '/login' : '/moved/';
        response.writeHead(302, { location }).end();
      } else if (request.url === '/login') {
        response.writeHead(200, { 'content-type': 'text/html' }).end('<form>');
      } else {
        sends(multistatus(folder('/moved/'), entry('/moved/a.md')))(request, response);
      }
    };
    const listing = await listAll(await open({}, { user: 'reader' }));
    expect(listing.documents.map(({ ref }) => ref)).toEqual(['a.md']);
    expect(requests.map(({ headers }) => headers.authorization)).toEqual([
      'Basic cmVhZGVyOnA=',
      'Basic cmVhZGVyOnA=',
    ]);
    await expect(fetchFile()).rejects.toMatchObject({ code: 'auth_failed' });
  });
});

describe('answers in odd forms', () => {
  test('addresses that are whole, not encoded, encoded twice or wrongly', async () => {
    answer = sends(
      multistatus(
        folder('http://inner.example:8080/dav'),
        entry('http://inner.example:8080/dav/a%20b.md'),
        entry('/dav/c d.md'),
        entry('/dav/100%.md'),
        entry('/dav/e%2520f.md'),
        entry('/dav/t&amp;c &lt;x&gt;.md'),
        entry('/dav/%C3%A4%E2%82%AC.md'),
        entry('<![CDATA[/dav/cdata.md]]>'),
      ),
    );
    const { documents } = await list();
    expect(documents.map(({ ref }) => ref)).toEqual(
      ['100%.md', 'a b.md', 'c d.md', 'cdata.md', 'e%20f.md', 't&c <x>.md', 'ä€.md'].toSorted(),
    );
  });

  test('names that lead elsewhere are ignored', async () => {
    const odd = [
      '/dav/..',
      '/dav/%2e%2e',
      '/dav/.',
      '/etc/passwd',
      '/dav/a/b.md',
      '/dav/x%2Fy',
      '/dav/n%00l',
      '//other/dav/z',
      '',
    ];
    answer = sends(multistatus(folder('/dav/'), ...odd.map((href) => entry(href)), entry('/dav/a.md')));
    expect((await list()).documents.map(({ ref }) => ref)).toEqual(['a.md']);
  });

  test('versions: weak and strong are one, without an ETag the time and size count, else nothing does', async () => {
    answer = sends(
      multistatus(
        folder('/dav/'),
        entry('/dav/a', '<d:getetag>W/"x"</d:getetag>'),
        entry(
          '/dav/b',
          '<d:getlastmodified>Mon, 23 Nov 2026 10:00:00 GMT</d:getlastmodified><d:getcontentlength>5</d:getcontentlength>',
        ),
        entry('/dav/c', ''),
        entry('/dav/d', '<d:getetag>"hidden"</d:getetag>', 'HTTP/1.1 404 Not Found'),
        entry('/dav/e', `<d:getetag>"${'x'.repeat(10_000)}"</d:getetag>`),
        entry('/dav/f', '<d:getcontentlength>-7</d:getcontentlength>'),
        '<d:response><d:href>/dav/g</d:href><d:status>HTTP/1.1 403 Forbidden</d:status></d:response>',
      ),
    );
    expect((await list()).documents.map(({ ref, version, byteSize }) => [ref, version, byteSize])).toEqual([
      ['a', 'etag "x"', null],
      ['b', 'modified Mon, 23 Nov 2026 10:00:00 GMT 5', 5],
      ['c', null, null],
      ['d', null, null],
      ['e', null, null],
      ['f', null, null],
    ]);
  });

  test.each([
    ['Mon, 23 Nov 2026 10:00:02 GMT', 'Mon, 23 Nov 2026 10:00:00 GMT', false],
    ['Mon, 23 Nov 2026 10:00:03 GMT', 'Mon, 23 Nov 2026 10:00:00 GMT', true],
    ['Mon, 23 Nov 2026 10:00:00 GMT', 'Mon, 23 Nov 2026 10:00:00 GMT', false],
    ['Mon, 23 Nov 2026 10:00:00 GMT', 'Mon, 23 Nov 2026 10:00:01 GMT', false],
    ['Mon, 23 Nov 2026 10:00:00 GMT', 'Mon, 23 Nov 2026 11:00:00 GMT', true],
    ['Mon, 23 Nov 2026 10:00:00 GMT', 'Lunes 23, por la tarde', true],
    // Without a time of the server, by the clock of the worker.
    ['now', 'Mon, 23 Nov 2020 10:00:00 GMT', true],
    ['now', new Date(Date.now() - 1_800_000).toUTCString(), false],
    ['now', new Date(Date.now() + 1_800_000).toUTCString(), false],
    ['now', new Date(Date.now() - 7_200_000).toUTCString(), true],
  ])('versions: at %s a time of change of %s counts: %s', async (date, modified, counts) => {
    const props = `<d:getlastmodified>${modified}</d:getlastmodified><d:getcontentlength>5</d:getcontentlength>`;
    answer = (_, response) =>
      response.writeHead(207, { date }).end(multistatus(folder('/dav/'), entry('/dav/a', props)));
    const [document] = (await list()).documents;
    expect(document?.version).toBe(counts ? `modified ${modified} 5` : null);
  });

  test.each([
    ['no XML', 'words'],
    ['another folder', multistatus(folder('/other/'), entry('/other/a.md'))],
    ['nothing', multistatus()],
    ['elements without end', '<a>'.repeat(100_000)],
  ])('%s', async (_, body) => {
    answer = sends(body);
    await expect(list()).rejects.toMatchObject({ code: 'source_invalid' });
  });

  test('entities that would grow are not expanded', async () => {
    const bomb = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "${'b'.repeat(1_000)}"><!ENTITY f SYSTEM "file:///etc/passwd">]>`;
    answer = sends(bomb + multistatus(folder('/dav/'), entry('/dav/&a;&f;.md')).slice(21));
    expect((await list()).documents.map(({ ref }) => ref)).toEqual(['&a;&f;.md']);
  });
});

describe('a server that does not come to an end', () => {
  test('folders within folders are left as truncated, in few requests', async () => {
    answer = (request, response) => {
      const { pathname } = new URL(request.url ?? '', origin);
      sends(multistatus(folder(pathname), folder(`${pathname}again/`), entry(`${pathname}a.md`)))(
        request,
        response,
      );
    };
    const listing = await list();
    expect(listing.truncated).toBe(true);
    expect(listing.documents).toHaveLength(33);
  });

  test('folders that double on each level are left as truncated', async () => {
    let reads = 0;
    let pages = 0;
    const walk = {
      root: '',
      read: () => {
        reads += 1;
        return Promise.resolve({ files: [], folders: ['a', 'b'] });
      },
      enters: () => true,
      lists: () => true,
    };
    for (let from: Position | null = null; ; pages += 1) {
      const { next, truncated } = await walkOn(from, walk);
      if (next === null) {
        expect(truncated).toBe(true);
        break;
      }
      from = parsePosition(next);
    }
    expect(pages).toBeLessThan(1_001);
    expect(reads).toBeLessThan(100_000);
  });

  test('a list of one folder without end, and one that is compressed to almost nothing', async () => {
    const part = entry('/dav/a.md').repeat(1_000);
    answer = (_, response) => {
      response.writeHead(207).write('<d:multistatus>');
      const more = () => {
        while (!response.destroyed && response.write(part));
      };
      response.on('drain', more);
      more();
    };
    await expect(list()).rejects.toMatchObject({ code: 'source_invalid' });
    answer = sends(gzipSync(Buffer.alloc(200_000_000, ' ')), 207, { 'content-encoding': 'gzip' });
    await expect(list()).rejects.toMatchObject({ code: 'source_invalid' });
    answer = sends(gzipSync(Buffer.alloc(200_000_000, ' ')), 200, { 'content-encoding': 'gzip' });
    expect(await fetchFile()).toEqual({ kind: 'skipped', code: 'too_large' });
  });

  test('a content without end, and one that is longer than it says', async () => {
    answer = (_, response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(60_000)));
      };
      response.on('drain', more);
      more();
    };
    expect(await fetchFile()).toEqual({ kind: 'skipped', code: 'too_large' });
    let sent = 0;
    answer = (_, response) => {
      response.writeHead(200, { 'content-length': 5_000_000_000 });
      const timer = setInterval(() => {
        sent += 1;
        response.write('x');
      }, 20);
      response.on('close', () => clearInterval(timer));
    };
    expect(await fetchFile()).toEqual({ kind: 'skipped', code: 'too_large' });
    expect(sent).toBeLessThan(20);
  });

  test('a position that is none of ours begins the listing again', async () => {
    const source = await open();
    await expect(source.list({ cursor: '{}', checkpoint: null }, soon())).rejects.toMatchObject({
      code: 'cursor_expired',
    });
  });
});
