import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AnswerLimits } from '#adapters/egress/answer-limits.ts';
import { webProvider } from '#adapters/sources/web/provider.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import { unusualNames } from '#test/support/sources/file-names.ts';
import { maxPause } from '#test/support/max-pause.ts';
import { listAll, openSource } from '#test/support/sources/open-source.ts';
import { startWebServer, type WebServer } from '#test/support/sources/web-server.ts';

const signal = AbortSignal.timeout(600_000);
const maxBytes = 1_000_000;

let server: WebServer;
beforeEach(async () => {
  server = await startWebServer();
});
afterEach(() => server.close());

const open = (scope: Record<string, unknown> = {}, limits: Partial<AnswerLimits> = {}): Promise<Source> =>
  openSource(webProvider, { ...server, scopeConfig: { ...server.scopeConfig, ...scope } }, '', limits);
const fetchOf = (source: Source, ref: string, version: string | null = null) =>
  source.fetch({ ref, version, mediaType: null, maxBytes }, signal);
const namesOf = async (source: Source) => (await listAll(source)).documents.map(({ name }) => name);

describe('pages of sitemaps', () => {
  it('are listed and read, with their addresses', async () => {
    await server.put('docs/a.html', '<p>a</p>');
    const source = await open();
    await source.check(signal);
    const listing = await listAll(source);
    const ref = `${server.origin}/docs/a.html`;
    expect(listing).toMatchObject({
      documents: [{ ref, name: 'docs/a.html', url: ref, version: null }],
      scope: 'everything',
      truncated: false,
      checkpoint: null,
    });
    const fetched = await fetchOf(source, ref);
    expect(fetched).toMatchObject({
      kind: 'content',
      mediaType: 'text/html',
      version: expect.stringMatching(/^etag "/) as string,
    });
    expect(server.paths.filter((path) => path === '/robots.txt')).toHaveLength(1);
  });

  it('are asked for again by their version alone', async () => {
    await server.put('a.md', 'one');
    const ref = server.address('a.md');
    const source = await open();
    const first = await fetchOf(source, ref);
    const version = first.kind === 'content' ? first.version : null;
    expect(await fetchOf(source, ref, version)).toEqual({ kind: 'unchanged' });
    await server.put('a.md', 'two');
    expect(await fetchOf(source, ref, version)).toMatchObject({ kind: 'content' });
  });

  it('have the time of their change as version, where it is not too close', async () => {
    const modified = 'Mon, 23 Nov 2026 10:00:00 GMT';
    let date = 'Mon, 23 Nov 2026 10:00:01 GMT';
    server.routes.set('/a', (request, response) => {
      const isSame = request.headers['if-modified-since'] === modified;
      response
        .writeHead(isSame ? 304 : 200, { 'last-modified': modified, date })
        .end(isSame ? undefined : 'a');
    });
    const source = await open();
    const ref = `${server.origin}/a`;
    expect(await fetchOf(source, ref)).toMatchObject({ kind: 'content', version: null });
    date = 'Mon, 23 Nov 2026 10:00:02 GMT';
    expect(await fetchOf(source, ref)).toMatchObject({ version: `modified ${modified}` });
    expect(await fetchOf(source, ref, `modified ${modified}`)).toEqual({ kind: 'unchanged' });
  });

  it('are gone after a deletion, and after a move listed at the new address', async () => {
    await server.put('old.md', 'x');
    await server.put('deleted.md', 'y');
    const source = await open();
    await listAll(source);
    await server.move('old.md', 'new.md');
    await server.remove('deleted.md');
    expect(await namesOf(await open())).toEqual(['new.md']);
    expect(await fetchOf(source, server.address('deleted.md'))).toEqual({ kind: 'gone' });
    expect(await source.exists(server.address('deleted.md'), signal)).toBe(false);
    expect(await source.exists(server.address('old.md'), signal)).toBe(false);
    expect(await source.exists(server.address('new.md'), signal)).toBe(true);
  });

  it('are no longer documents when they were moved for good, but are when a redirect is temporary', async () => {
    await server.put('new.md', 'x');
    const redirect = (status: number) =>
      server.routes.set(
        `/${status}`,
        (_, response) => void response.writeHead(status, { location: '/new.md' }).end(),
      );
    [301, 302, 307, 308].forEach(redirect);
    const source = await open();
    const exists = (status: number) => source.exists(`${server.origin}/${status}`, signal);
    expect(await Promise.all([301, 308, 302, 307].map(exists))).toEqual([false, false, true, true]);
  });

  it('do not take the content of a page for signing in', async () => {
    await server.put('a.md', 'text');
    const source = await open({ exclude: ['login'] });
    const [document] = (await listAll(source)).documents;
    server.routes.set(
      '/a.md',
      (_, response) => void response.writeHead(302, { location: '/login?next=/a.md' }).end(),
    );
    for (const path of ['/login?next=/a.md', '/other']) {
      server.routes.set(path, (_, response) => void response.end('Sign in'));
    }
    const forbidden = { kind: 'skipped', code: 'forbidden_by_source' };
    expect(await fetchOf(source, document!.ref, 'etag "1"')).toEqual(forbidden);
    // Nor that of any other page for the time being, nor for good of a page outside the scope.
    server.routes.set('/a.md', (_, response) => void response.writeHead(307, { location: '/other' }).end());
    expect(await fetchOf(source, document!.ref)).toEqual(forbidden);
    server.routes.set(
      '/a.md',
      (_, response) => void response.writeHead(301, { location: '/login?next=/a.md' }).end(),
    );
    expect(await fetchOf(source, document!.ref)).toEqual(forbidden);
  });

  it.each([
    ['/a', '/a/'],
    ['/a/', '/a/index.html'],
    ['/a', '/A'],
    ['/a/b', '/en/a/b'],
    ['/a/b', '/latest/a/b/?theme=dark'],
    ['/a?x=1', '/en/a?x=1'],
    ['/', '/en/'],
    ['/', '/home'],
  ])('are their own documents where %s redirects for the time being to %s', async (from, to) => {
    const source = await open({ exclude: ['out/**'] });
    server.routes.set(from, (_, response) => void response.writeHead(302, { location: to }).end());
    server.routes.set(to, (request, response) => {
      const isKnown = request.headers['if-none-match'] === '"1"';
      response
        .writeHead(isKnown ? 304 : 200, { etag: '"1"', 'content-type': 'text/html' })
        .end(isKnown ? '' : 'own');
    });
    const ref = server.origin + from;
    expect(await fetchOf(source, ref)).toMatchObject({ kind: 'content', content: Buffer.from('own') });
    expect(await fetchOf(source, ref, 'etag "1"')).toEqual({ kind: 'unchanged' });
    expect(await source.exists(ref, signal)).toBe(true);
  });

  it.each([
    ['/a', '/login?next=/a'],
    ['/a', '/a?next=%2Fa'],
    ['/a', '/login/a?next=/a'],
    ['/a', '/b'],
    ['/a', '/ba'],
    ['/a', '/out/a'],
    ['/a?title=b', '/a?title=login'],
    ['/', '/login?next=/'],
    ['/', '/?to=%2F'],
    ['/', '/out/'],
  ])('are forbidden where %s redirects for the time being to %s', async (from, to) => {
    for (const mode of ['sitemap', 'crawl']) {
      const source = await open({ exclude: ['out/**'], mode });
      server.routes.set(from, (_, response) => void response.writeHead(303, { location: to }).end());
      server.routes.set(to, (request, response) => {
        const isKnown = request.headers['if-none-match'] === '"1"';
        const content = '<link rel="canonical" href="/login"><p>Sign in</p>';
        response.writeHead(isKnown ? 304 : 200, { 'content-type': 'text/html' }).end(isKnown ? '' : content);
      });
      server.routes.set('/login', (_, response) => void response.end('Sign in'));
      const ref = server.origin + from;
      const forbidden = { kind: 'skipped', code: 'forbidden_by_source' };
      expect(await fetchOf(source, ref)).toEqual(forbidden);
      expect(await fetchOf(source, ref, 'etag "1"')).toEqual(forbidden);
      expect(await source.exists(ref, signal)).toBe(true);
    }
  });

  it('are read where they were moved to a page beyond max_pages', async () => {
    const { origin } = server;
    server.routes.set('/a', (_, response) => void response.writeHead(301, { location: '/c' }).end());
    for (const path of ['/b', '/c']) server.routes.set(path, (_, response) => void response.end(path));
    server.routes.set('/sitemap.xml', (_, response) =>
      response.end(
        `<urlset>${['a', 'b', 'c'].map((name) => `<loc>${origin}/${name}</loc>`).join('')}</urlset>`,
      ),
    );
    for (const [limit, is] of [
      [2, 'content'],
      [3, 'gone'],
    ] as const) {
      const source = await open({ max_pages: limit });
      await source.list({ cursor: null, checkpoint: null }, signal);
      expect(await fetchOf(source, `${origin}/a`)).toMatchObject({ kind: is });
    }
  });

  it('are one document where the sitemaps name both addresses of a page, and one where only the former', async () => {
    const { origin } = server;
    for (const [from, to] of [
      ['/a', '/b'],
      ['/old', '/new'],
    ] as const) {
      server.routes.set(from, (_, response) => void response.writeHead(301, { location: to }).end());
      server.routes.set(to, (_, response) => void response.end(to));
    }
    server.routes.set('/sitemap.xml', (_, response) =>
      response.end(
        `<urlset>${['a', 'b', 'old'].map((name) => `<loc>${origin}/${name}</loc>`).join('')}</urlset>`,
      ),
    );
    const source = await open();
    await listAll(source);
    expect(await fetchOf(source, `${origin}/a`)).toEqual({ kind: 'gone' });
    expect(await fetchOf(source, `${origin}/b`)).toMatchObject({ kind: 'content' });
    expect(await fetchOf(source, `${origin}/old`)).toMatchObject({ kind: 'content' });
  });

  it.each([0, 1, 99, 100, 101, 200, 1_100])('are listed completely and once, %i of them', async (count) => {
    const names = Array.from({ length: count }, (_, at) => `${at % 7}/${at}.md`);
    for (const name of names) {
      await server.put(name, name);
    }
    const { documents, pages, truncated } = await listAll(await open());
    expect(documents.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    expect(pages).toBe(Math.max(1, Math.ceil(count / 100)));
    expect(truncated).toBe(false);
  });

  it('continue from each cursor in another process', async () => {
    const names = Array.from({ length: 620 }, (_, at) => `${at}.md`);
    for (const name of names) {
      await server.put(name, name);
    }
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await (await open()).list({ cursor, checkpoint: null }, signal);
      found.push(...page.documents.map(({ name }) => name));
      cursor = page.next;
    } while (cursor !== null);
    expect(found.toSorted()).toEqual(names.toSorted());
  });

  it.each(unusualNames)('are listed and read as %s', async (name) => {
    await server.put(name, name);
    const source = await open();
    const [document] = (await listAll(source)).documents;
    expect(document!.name).toBe(name);
    const fetched = await fetchOf(source, document!.ref);
    expect(fetched.kind === 'content' && Buffer.from(fetched.content).toString()).toBe(name);
  });

  it('are found by compressed sitemaps and indexes, by robots.txt, and in character data', async () => {
    const { origin } = server;
    const serve = (path: string, content: string | Uint8Array) =>
      server.routes.set(path, (_, response) => void response.end(content));
    serve(
      '/robots.txt',
      `User-agent: *\nSitemap: ${origin}/index.xml.gz\nSitemap: https://elsewhere.example/s.xml`,
    );
    serve(
      '/index.xml.gz',
      gzipSync(
        `<sitemapindex><sitemap><loc>${origin}/one.xml.gz</loc></sitemap><sitemap><loc>${origin}/two.xml</loc></sitemap></sitemapindex>`,
      ),
    );
    serve('/one.xml.gz', gzipSync(`<urlset><url><loc>${origin}/1?a=b&amp;c=d</loc></url></urlset>`));
    serve(
      '/two.xml',
      `<urlset xmlns:image="x"><url><loc>\n <![CDATA[${origin}/2?a&b]]>\n</loc><image:loc>${origin}/image</image:loc></url>
       <url><loc>https://elsewhere.example/3</loc></url><url><location>${origin}/4</location></url></urlset>`,
    );
    const { documents } = await listAll(await open());
    expect(documents.map(({ ref }) => ref)).toEqual([`${origin}/1?a=b&c=d`, `${origin}/2?a&b`]);
  });

  it('are not listed where the scope or robots.txt leaves them out, and not read either', async () => {
    for (const name of ['docs/a.html', 'docs/b.md', 'drafts/c.html', 'private/d.html']) {
      await server.put(name, name);
    }
    server.routes.set('/robots.txt', (_, response) =>
      response.end('User-agent: other\nDisallow: /\n\nUser-agent: platformconnector\nDisallow: /private/\n'),
    );
    const source = await open({ include: ['**/*.html'], exclude: ['drafts/**'] });
    expect(await namesOf(source)).toEqual(['docs/a.html']);
    const before = server.requests();
    expect(await fetchOf(source, server.address('drafts/c.html'))).toEqual({ kind: 'gone' });
    expect(await fetchOf(source, server.address('private/d.html'))).toEqual({
      kind: 'skipped',
      code: 'forbidden_by_source',
    });
    expect(await fetchOf(source, 'http://10.0.0.1/x.html')).toEqual({ kind: 'gone' });
    expect(await source.exists(server.address('private/d.html'), signal)).toBe(false);
    expect(server.requests()).toBe(before);
  });

  it('are cut at the limit of pages, and then nothing counts as deleted', async () => {
    for (let at = 0; at < 30; at += 1) {
      await server.put(`${at}.md`, '');
    }
    expect(await listAll(await open({ max_pages: 30 }))).toMatchObject({ truncated: false });
    const cut = await listAll(await open({ max_pages: 29 }));
    expect(cut.documents).toHaveLength(29);
    expect(cut.truncated).toBe(true);
  });

  it('are incomplete while a sitemap that the index names cannot be read', async () => {
    const { origin } = server;
    await server.put('a.md', '');
    server.routes.set('/index.xml', (_, response) =>
      response.end(
        `<sitemapindex><loc>${origin}/sitemap.xml</loc><loc>${origin}/missing.xml</loc></sitemapindex>`,
      ),
    );
    const { documents, truncated } = await listAll(await open({ start_urls: [`${origin}/index.xml`] }));
    expect(documents).toHaveLength(1);
    expect(truncated).toBe(true);
  });
});

describe('a document of the web', () => {
  it.each([
    [404, {}, { kind: 'gone' }],
    [410, {}, { kind: 'gone' }],
    [401, {}, { kind: 'skipped', code: 'forbidden_by_source' }],
    [403, {}, { kind: 'skipped', code: 'forbidden_by_source' }],
    [451, {}, { kind: 'skipped', code: 'forbidden_by_source' }],
    [400, {}, { kind: 'skipped', code: 'not_a_document' }],
    [204, {}, { kind: 'skipped', code: 'not_a_document' }],
    [200, { 'content-type': 'image/png' }, { kind: 'skipped', code: 'unsupported_format' }],
  ])('with HTTP %i and %j is %j', async (status, headers, expected) => {
    server.routes.set('/a', (_, response) => void response.writeHead(status, headers).end());
    expect(await fetchOf(await open(), `${server.origin}/a`)).toEqual(expected);
  });

  it.each([
    [429, { 'retry-after': '7' }, { code: 'rate_limited', retryAfterMs: 7_000 }],
    [429, {}, { code: 'rate_limited', retryAfterMs: null }],
    [503, { 'retry-after': '999999' }, { code: 'rate_limited', retryAfterMs: 3_600_000 }],
    [503, {}, { code: 'source_unreachable' }],
    [500, {}, { code: 'source_unreachable' }],
    [507, {}, { code: 'quota_exceeded' }],
  ])('with HTTP %i and %j fails as %j', async (status, headers, expected) => {
    server.routes.set('/a', (_, response) => void response.writeHead(status, headers).end());
    const source = await open();
    await expect(fetchOf(source, `${server.origin}/a`)).rejects.toMatchObject(expected);
    await expect(source.exists(`${server.origin}/a`, signal)).rejects.toMatchObject(expected);
  });

  it('is not read to its end when it is too long, whatever its length says', async () => {
    let sent = 0;
    const endless = (headers: Record<string, string>) => {
      server.routes.set('/a', (_, response) => {
        response.writeHead(200, headers);
        const more = () => {
          sent += 65_536;
          if (!response.destroyed && response.write(Buffer.alloc(65_536))) setImmediate(more);
        };
        response.on('drain', more);
        more();
      });
    };
    const source = await open();
    for (const headers of [{}, { 'content-length': '99999999999' }, { 'content-type': 'text/html' }]) {
      endless(headers);
      expect(await fetchOf(source, `${server.origin}/a`)).toEqual({ kind: 'skipped', code: 'too_large' });
    }
    expect(sent).toBeLessThan(40_000_000);
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    server.routes.set(
      '/bomb',
      (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    expect(await fetchOf(source, `${server.origin}/bomb`)).toEqual({ kind: 'skipped', code: 'too_large' });
  });

  it('fails as unreachable when its server is silent, breaks off, or is not there', async () => {
    server.routes.set('/silent', () => {});
    server.routes.set('/slow', (_, response) => void response.writeHead(200).write('beginning'));
    server.routes.set('/cut', (_, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('beginning', () => response.destroy());
    });
    const source = await open({}, { headersMs: 300, idleMs: 300 });
    for (const path of ['silent', 'slow', 'cut']) {
      await expect(fetchOf(source, `${server.origin}/${path}`)).rejects.toMatchObject({
        code: 'source_unreachable',
      });
    }
    await server.stop();
    const again = await open();
    for (const work of [
      () => again.check(signal),
      () => listAll(again),
      () => again.exists(server.address('a'), signal),
    ]) {
      await expect(work()).rejects.toMatchObject({ code: 'source_unreachable' });
    }
    await server.start();
    await again.check(signal);
  });

  it('follows no redirect without end, none to another host, and none to a private address', async () => {
    const redirect = (path: string, location: string) =>
      server.routes.set(path, (_, response) => void response.writeHead(302, { location }).end());
    redirect('/loop', '/loop');
    redirect('/private', 'http://10.0.0.1/');
    redirect('/metadata', 'http://169.254.169.254/latest/meta-data');
    redirect('/file', 'file:///etc/passwd');
    const source = await open();
    await expect(fetchOf(source, `${server.origin}/loop`)).rejects.toMatchObject({ code: 'source_invalid' });
    for (const path of ['private', 'metadata', 'file']) {
      expect(await fetchOf(source, `${server.origin}/${path}`)).toMatchObject({
        code: 'forbidden_by_source',
      });
    }
  });

  it('stops when its caller does', async () => {
    server.routes.set('/silent', () => {});
    const stopped = AbortSignal.timeout(200);
    const source = await open();
    const work = source.fetch(
      { ref: `${server.origin}/silent`, version: null, mediaType: null, maxBytes },
      stopped,
    );
    await expect(work).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});

describe('the start of a site', () => {
  it.each([
    [404, 'scope_invalid'],
    [401, 'auth_failed'],
    [403, 'auth_failed'],
    [429, 'rate_limited'],
    [500, 'source_unreachable'],
  ])('with HTTP %i fails as %s, with sitemaps and links', async (status, code) => {
    for (const path of ['/', '/sitemap.xml']) {
      server.routes.set(path, (_, response) => void response.writeHead(status).end());
    }
    for (const mode of ['sitemap', 'crawl']) {
      const source = await open({ mode });
      await expect(source.check(signal)).rejects.toMatchObject({ code });
      await expect(listAll(source)).rejects.toMatchObject({ code });
    }
  });

  it.each([
    ['<html>not found</html>', 'source_invalid'],
    ['', 'source_invalid'],
    [Buffer.from([0x1f, 0x8b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]), 'source_invalid'],
  ])('is no sitemap: case %#', async (content, code) => {
    server.routes.set('/sitemap.xml', (_, response) => void response.end(content));
    const source = await open();
    await expect(source.check(signal)).rejects.toMatchObject({ code });
    await expect(listAll(source)).rejects.toMatchObject({ code });
  });

  it('may not be reached where it is private or its protocol is not listed', async () => {
    for (const start of [
      'https://127.0.0.1:8443/',
      'http://example.org/',
      'https://[::1]/',
      'https://169.254.169.254/',
    ]) {
      const source = await open({ start_urls: [start] });
      await expect(source.check(signal)).rejects.toMatchObject({ code: 'scope_invalid' });
    }
  });

  it('is not read while its robots.txt fails, and forbids what it forbids', async () => {
    let robots: [number, string] = [500, ''];
    server.routes.set('/robots.txt', (_, response) => void response.writeHead(robots[0]).end(robots[1]));
    for (const mode of ['sitemap', 'crawl']) {
      robots = [500, ''];
      const source = await open({ mode });
      await expect(listAll(source)).rejects.toMatchObject({ code: 'source_unreachable' });
      robots = [200, 'User-agent: *\nDisallow: /'];
      await expect(listAll(source)).rejects.toMatchObject({ code: 'scope_invalid' });
      robots = [200, `User-agent: *\n${'Disallow: /x\n'.repeat(5_001)}`];
      await expect((await open({ mode })).check(signal)).rejects.toMatchObject({ code: 'source_invalid' });
      robots = [403, 'Disallow: /'];
      await (await open({ mode })).check(signal);
    }
  });

  it.each([
    { start_urls: [] },
    { start_urls: ['ftp://example.org/'] },
    { start_urls: ['https://user:secret@example.org/'] },
    { start_urls: ['x'] },
    { mode: 'other' },
    { max_pages: 0 },
    { max_pages: 50_001 },
    { max_depth: -1 },
  ])('is refused: %j', (scope) => {
    expect(() => open(scope)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  it('has a scope whose unknown fields are refused', () => {
    expect(() => open({ other: 1 })).toThrow(expect.objectContaining({ code: 'unknown_parameter' }));
  });
});

describe('a hostile sitemap', () => {
  it('is compared with the rules of robots.txt beside the event loop', async () => {
    const rules = Array<string>(200).fill(`Disallow: /${'*aaaaab'.repeat(27)}\n`);
    server.routes.set('/robots.txt', (_, response) =>
      response.end(`User-agent: *\n${rules.join('')}Disallow: /a\n`),
    );
    const list = Array.from(
      { length: 1_000 },
      (_, at) => `<loc>${server.origin}/${'a'.repeat(1_900)}${at}</loc>`,
    );
    server.routes.set(
      '/sitemap.xml',
      (_, response) => void response.end(`<urlset>${list.join('')}</urlset>`),
    );
    const source = await open();
    expect(await maxPause(async () => expect(await namesOf(source)).toEqual([]))).toBeLessThan(500);
  });

  const serve = (path: string, content: string | Uint8Array) =>
    server.routes.set(path, (_, response) => void response.end(content));

  it('that inflates without end is cut', async () => {
    const part = `<url><loc>${server.origin}/a</loc></url>`;
    serve('/sitemap.xml', gzipSync(`<urlset>${part}${' '.repeat(80_000_000)}</urlset>`));
    const { documents, truncated } = await listAll(await open());
    expect(documents).toHaveLength(1);
    expect(truncated).toBe(true);
  });

  it('that names itself, or more and more of its kind, ends', async () => {
    const { origin } = server;
    serve('/sitemap.xml', `<sitemapindex><loc>${origin}/sitemap.xml</loc></sitemapindex>`);
    expect(await listAll(await open())).toMatchObject({ documents: [], truncated: false });
    const list = Array.from({ length: 1_500 }, (_, at) => `<loc>${origin}/s${at}.xml</loc>`);
    serve('/sitemap.xml', `<sitemapindex>${list.join('')}</sitemapindex>`);
    for (let at = 0; at < 1_500; at += 1) serve(`/s${at}.xml`, '<urlset></urlset>');
    const { truncated, pages } = await listAll(await open());
    expect(truncated).toBe(true);
    expect(pages).toBeLessThan(60);
    expect(server.requests()).toBeLessThan(1_100);
  });

  it('with 60,000 pages has a cursor of less than a mebibyte', async () => {
    const list = Array.from({ length: 60_000 }, (_, at) => `<url><loc>${server.origin}/${at}</loc></url>`);
    serve('/sitemap.xml', `<urlset>${list.join('')}</urlset>`);
    const source = await open({ max_pages: 50_000 });
    let [cursor, longest, listed]: [string | null, number, number] = [null, 0, 0];
    do {
      const page: Awaited<ReturnType<Source['list']>> = await source.list(
        { cursor, checkpoint: null },
        signal,
      );
      cursor = page.next;
      listed += page.documents.length;
      longest = Math.max(longest, cursor?.length ?? 0);
      if (cursor === null) expect(page.truncated).toBe(true);
    } while (cursor !== null);
    expect(listed).toBe(50_000);
    expect(longest).toBeLessThan(1_048_576);
  });
});
